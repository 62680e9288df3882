// Drives Chromium by lines of JSON: one command in, one answer out. Ends when its input ends.

import { createInterface } from "node:readline";
import { createRequire } from "node:module";

const { chromium } = createRequire(`${process.argv[2]}/`)("playwright-core");
const browser = await chromium.launch({
  executablePath: process.argv[3],
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-proxy-server"],
});
const context = await browser.newContext({ viewport: { width: 1280, height: 860 }, acceptDownloads: true });
const page = await context.newPage();
page.setDefaultTimeout(Number(process.argv[4]));
const complaints = [];
page.on("pageerror", (error) => complaints.push(error.message));
page.on("console", (message) => message.type() === "error" && complaints.push(message.text()));
page.on("dialog", (dialog) => complaints.push(`dialog: ${dialog.message()}`) && dialog.dismiss());

const commands = {
  goto: ({ url }) => page.goto(url).then(() => null),
  click: ({ selector }) => page.click(selector).then(() => null),
  fill: ({ selector, text }) => page.fill(selector, text).then(() => null),
  press: ({ key }) => page.keyboard.press(key).then(() => null),
  see: ({ selector, text }) => page.locator(selector, { hasText: text }).first().waitFor().then(() => null),
  gone: ({ selector }) => page.locator(selector).first().waitFor({ state: "hidden" }).then(() => null),
  text: ({ selector }) => page.locator(selector).first().innerText(),
  count: ({ selector }) => page.locator(selector).count(),
  run: ({ script }) => page.evaluate(`(${script})()`),
  size: ({ width, height }) => page.setViewportSize({ width, height }).then(() => null),
  scheme: ({ scheme }) => page.emulateMedia({ colorScheme: scheme }).then(() => null),
  picture: ({ path }) => page.screenshot({ path }).then(() => null),
  download: async ({ selector, path }) => {
    const [download] = await Promise.all([page.waitForEvent("download"), page.click(selector)]);
    await download.saveAs(path);
    return download.suggestedFilename();
  },
  complaints: () => complaints,
};

process.stdout.write('{"ready":true}\n');
for await (const line of createInterface({ input: process.stdin })) {
  const { command, ...given } = JSON.parse(line);
  let answer;
  try {
    answer = { value: (await commands[command](given)) ?? null };
  } catch (error) {
    answer = { error: String(error.message) };
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
await browser.close();
