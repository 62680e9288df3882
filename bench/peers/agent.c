/* The agent of the comparison: whatever harness starts it as `claude`, it adds a line to notes.txt in its folder, so that
 * no harness takes it for stuck, prints what lies beside it, and ends.
 *
 * Beside the program:
 *   stream    what it prints, if there is such a file; else three lines, in the dialect that it is asked for
 *   linger    if there is such a file, it leaves a process behind, in a session of its own
 *   launches  two lines for each session: when it began (nanoseconds of the monotonic clock), and, once all of it was
 *             taken, how many bytes it printed
 *
 * It is in C, so that hardly any of the time that is measured is its own. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { LINGERS_SECONDS = 60, STDIN_MILLISECONDS = 3000, LONGEST = 4096, NOTE_SIZE = 30, NOTES_EACH = 2 };

/* No two in a row sound alike: some harnesses take that for a loop. */
static const char *const CHAT[] = {
    "I read the module and changed what the function returns.",
    "Next came the file beside it, where the same constant was wrong.",
    "The third one took a moment: I compared it with its test first.",
    "Nothing surprising this time; a small edit, then a look at the diff.",
    "My last step was to go through the remaining folders in alphabetical order.",
};

static char folder[LONGEST];

static int beside(const char *name, int flags)
{
    char path[2 * LONGEST];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return open(path, flags | O_CLOEXEC, 0644);
}

static void print_all(const char *bytes, size_t size)
{
    while (size > 0) {
        ssize_t written = write(STDOUT_FILENO, bytes, size);
        if (written >= 0) {
            bytes += written;
            size -= (size_t)written;
        } else if (errno == EAGAIN) {
            struct pollfd full = {.fd = STDOUT_FILENO, .events = POLLOUT};
            poll(&full, 1, -1);
        } else if (errno != EINTR) {
            exit(1);
        }
    }
}

/* Says how many sessions were noted before this one. */
static long note(const char *word, long long number)
{
    char line[NOTE_SIZE + 1];
    int file = beside("launches", O_WRONLY | O_CREAT | O_APPEND);
    if (file < 0)
        exit(1);
    struct stat before;
    fstat(file, &before);
    snprintf(line, sizeof line, "%-8s%21lld\n", word, number);
    if (write(file, line, NOTE_SIZE) != NOTE_SIZE)
        exit(1);
    close(file);
    return before.st_size / (NOTE_SIZE * NOTES_EACH);
}

static int has(int count, char **words, const char *word)
{
    for (int i = 1; i < count; i++)
        if (strcmp(words[i], word) == 0)
            return 1;
    return 0;
}

static void work(long number)
{
    char line[64];
    int file = open("notes.txt", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    int length = snprintf(line, sizeof line, "session %ld was here\n", number);
    if (file < 0 || write(file, line, (size_t)length) != length)
        exit(1);
    close(file);
}

/* As the SDKs speak: requests for control are granted until a person says something. */
static void converse(void)
{
    char *line = NULL;
    size_t size = 0;
    while (getline(&line, &size, stdin) > 0 && strstr(line, "\"control_request\"")) {
        char identity[256] = "";
        char *found = strstr(line, "\"request_id\"");
        if (found)
            sscanf(found, "\"request_id\" : \"%255[^\"]\"", identity);
        printf("{\"type\":\"control_response\",\"response\":{\"subtype\":\"success\",\"request_id\":\"%s\","
               "\"response\":{\"commands\":[]}}}\n",
               identity);
        fflush(stdout);
    }
    free(line);
}

/* A prompt has spaces. If no argument has, it comes by standard input, if anybody writes there. */
static void hear(int count, char **words)
{
    char taken[65536];
    struct pollfd spoken = {.fd = STDIN_FILENO, .events = POLLIN};
    for (int i = 1; i < count; i++)
        if (strpbrk(words[i], " \n"))
            return;
    if (poll(&spoken, 1, STDIN_MILLISECONDS) > 0)
        while (read(STDIN_FILENO, taken, sizeof taken) > 0)
            ;
}

static void linger(void)
{
    if (fork() != 0)
        return;
    setsid();
    for (int descriptor = 0; descriptor < 1024; descriptor++)
        close(descriptor);
    sleep(LINGERS_SECONDS);
    _exit(0);
}

static size_t print_stream(int stream)
{
    struct stat about;
    if (fstat(stream, &about) != 0 || about.st_size == 0)
        exit(1);
    char *bytes = mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_SHARED, stream, 0);
    if (bytes == MAP_FAILED)
        exit(1);
    print_all(bytes, (size_t)about.st_size);
    return (size_t)about.st_size;
}

static size_t print_three_lines(int is_stream, const char *words)
{
    char said[LONGEST];
    if (is_stream)
        snprintf(said, sizeof said,
                 "{\"type\":\"system\",\"subtype\":\"init\",\"session_id\":\"18813941-78c8-44bc-885f-75dff03964fd\","
                 "\"model\":\"claude-opus-5-5\",\"tools\":[\"Bash\"],\"claude_code_version\":\"2.1.325\"}\n"
                 "{\"type\":\"assistant\",\"message\":{\"role\":\"assistant\",\"model\":\"claude-opus-5-5\",\"content\":"
                 "[{\"type\":\"text\",\"text\":\"%s\"}]},\"parent_tool_use_id\":null,"
                 "\"session_id\":\"18813941-78c8-44bc-885f-75dff03964fd\"}\n"
                 "{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"num_turns\":1,\"duration_ms\":320,"
                 "\"duration_api_ms\":300,\"result\":\"%s\",\"total_cost_usd\":0.01,"
                 "\"usage\":{\"input_tokens\":2000,\"output_tokens\":100},"
                 "\"session_id\":\"18813941-78c8-44bc-885f-75dff03964fd\"}\n",
                 words, words);
    else
        snprintf(said, sizeof said, "%s\n", words);
    print_all(said, strlen(said));
    return strlen(said);
}

int main(int count, char **words)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (count > 1 && (strcmp(words[1], "--version") == 0 || strcmp(words[1], "-v") == 0)) {
        puts("2.1.325 (Claude Code)");
        return 0;
    }
    if (!has(count, words, "-p") && !has(count, words, "--print") && !has(count, words, "--input-format")) {
        puts("usage: claude -p PROMPT --output-format stream-json --max-turns N --resume ID");
        return 0;
    }
    ssize_t length = readlink("/proc/self/exe", folder, sizeof folder - 1);
    if (length <= 0)
        return 1;
    *strrchr(folder, '/') = '\0';
    long number = note("began", now.tv_sec * 1000000000LL + now.tv_nsec);
    if (has(count, words, "--input-format"))
        converse();
    else
        hear(count, words);
    work(number);
    int mark = beside("linger", O_RDONLY);
    if (mark >= 0)
        linger();
    int stream = beside("stream", O_RDONLY);
    size_t printed = stream >= 0 ? print_stream(stream)
                                 : print_three_lines(has(count, words, "stream-json"), CHAT[number % 5]);
    note("printed", (long long)printed);
    return 0;
}
