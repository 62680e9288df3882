/* What watcher_main.py does, compiled: a fork of this costs a tenth of a fork of a Python, and each program needs two.

   The two understand the same messages and pass the same tests; the reasons are given over there. Linux only. It is
   linked statically where that can be had, so that it needs no file of the system once it has begun. */

#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LONGEST 256
#define LONGEST_MESSAGE (32 * 1024)
#define LONGEST_FILE (8 * 1024 * 1024)
#define STANDARD 3
#define POLL_SECONDS 0.02
#define MOST_LOOKS 5
#define GRACE_SECONDS 1.0
#define LONGEST_SECONDS 10.0

/* watcher_program.py looks for it: a build that understands other messages is not started. */
static const char format[] = "ralph watcher, format 2";

static const int often_ignored[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
static const int ignored_here[] = {SIGPIPE, SIGXFSZ};
#define NUMBER_OF(array) (sizeof(array) / sizeof(*(array)))

static int is_usual[NUMBER_OF(often_ignored)]; /* what ralph's own children do not inherit as ignored */

static void *grown(void *memory, size_t bytes)
{
    void *more = realloc(memory, bytes);
    if (more == NULL)
        _exit(1);
    return more;
}

/* --- messages --- */

/* The bytes of the message, 0 at the end of the socket, -1 for an error; nothing that is started meanwhile inherits the descriptors. */
static ssize_t receive(int channel, char *message, size_t size, int *descriptors, size_t most, size_t *count)
{
    union {
        char room[CMSG_SPACE(sizeof(int) * (STANDARD + 1))];
        struct cmsghdr aligned;
    } others;
    struct iovec part = {message, size};
    struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &others};
    ssize_t length;

    header.msg_controllen = CMSG_SPACE(sizeof(int) * most);
    do
        length = recvmsg(channel, &header, MSG_CMSG_CLOEXEC);
    while (length < 0 && errno == EINTR);
    *count = 0;
    if (length < 0)
        return length;
    for (struct cmsghdr *each = CMSG_FIRSTHDR(&header); each != NULL; each = CMSG_NXTHDR(&header, each)) {
        if (each->cmsg_level != SOL_SOCKET || each->cmsg_type != SCM_RIGHTS)
            continue;
        size_t fits = (each->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t place = 0; place < fits && *count < most; place++)
            memcpy(&descriptors[(*count)++], CMSG_DATA(each) + place * sizeof(int), sizeof(int));
    }
    return length;
}

/* With a descriptor, unless that is negative. Whoever is gone need not hear it. */
static void say(int channel, const char *words, int descriptor)
{
    union {
        char room[CMSG_SPACE(sizeof(int))];
        struct cmsghdr aligned;
    } other = {{0}};
    struct iovec part = {(char *)words, strlen(words)};
    struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1};

    if (descriptor >= 0) {
        header.msg_control = &other;
        header.msg_controllen = sizeof(other.room);
        struct cmsghdr *first = CMSG_FIRSTHDR(&header);
        first->cmsg_level = SOL_SOCKET;
        first->cmsg_type = SCM_RIGHTS;
        first->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(first), &descriptor, sizeof(int));
    }
    while (sendmsg(channel, &header, MSG_NOSIGNAL) < 0 && errno == EINTR)
        ;
}

static void say_why_not(int channel, int number)
{
    char words[32];

    snprintf(words, sizeof(words), "error %d", number);
    say(channel, words, -1);
}

/* --- the process table --- */

struct process {
    pid_t pid, parent;
    unsigned long long started;
    int is_marked; /* it carries the mark of a run */
    int signalled; /* the last signal it got */
};

struct processes {
    struct process *each;
    size_t count, room;
};

struct marks {
    char **each;
    size_t count;
};

static void add(struct processes *list, struct process process)
{
    if (list->count == list->room) {
        list->room = list->room ? 2 * list->room : 64;
        list->each = grown(list->each, list->room * sizeof(*list->each));
    }
    list->each[list->count++] = process;
}

static struct process *known(const struct processes *list, const struct process *process)
{
    for (size_t place = 0; place < list->count; place++)
        if (list->each[place].pid == process->pid && list->each[place].started == process->started)
            return &list->each[place];
    return NULL;
}

/* What a file of /proc says, with a zero behind it; the memory is used again. NULL if it cannot be read. A process may say
   that any of its memory is its environment: no more is read than a system passes on to a program. */
static char *read_file(const char *pid, const char *name, size_t *length)
{
    static char *text;
    static size_t room;
    char path[64];
    ssize_t got = -1;

    snprintf(path, sizeof(path), "/proc/%.20s/%s", pid, name);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return NULL;
    *length = 0;
    do {
        if (room - *length < 2)
            text = grown(text, room = room ? 2 * room : 8192);
        got = read(file, text + *length, room - *length - 1);
        if (got > 0)
            *length += (size_t)got;
    } while ((got > 0 && *length < LONGEST_FILE) || (got < 0 && errno == EINTR));
    close(file);
    if (got < 0)
        return NULL;
    text[*length] = 0;
    return text;
}

static int carries(const char *pid, const struct marks *marks)
{
    size_t length;
    const char *words = marks->count ? read_file(pid, "environ", &length) : NULL;

    if (words == NULL)
        return 0;
    for (const char *word = words; word < words + length; word += strlen(word) + 1)
        for (size_t place = 0; place < marks->count; place++)
            if (strcmp(word, marks->each[place]) == 0)
                return 1;
    return 0;
}

static int by_pid(const void *one, const void *other)
{
    pid_t first = ((const struct process *)one)->pid, second = ((const struct process *)other)->pid;
    return (first > second) - (first < second);
}

/* Without the dead, in the order of pids. A zombie with other threads is none: they go on without their first one. */
static void read_table(struct processes *table, const struct marks *marks)
{
    DIR *folder = opendir("/proc");
    struct dirent *entry;

    table->count = 0;
    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        struct process process = {0};
        size_t length;
        char state, *rest, *stat;
        int threads;
        if (entry->d_name[0] < '0' || entry->d_name[0] > '9')
            continue;
        if ((stat = read_file(entry->d_name, "stat", &length)) == NULL || (rest = strrchr(stat, ')')) == NULL)
            continue;
        process.pid = atoi(entry->d_name);
        int found = sscanf(
            rest + 1, " %c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %d %*d %llu", &state,
            &process.parent, &threads, &process.started);
        if (found != 4 || ((state == 'Z' || state == 'X') && threads <= 1))
            continue;
        process.is_marked = carries(entry->d_name, marks);
        add(table, process);
    }
    if (folder != NULL)
        closedir(folder);
    if (table->count)
        qsort(table->each, table->count, sizeof(*table->each), by_pid);
}

static struct process *look_up(const struct processes *table, pid_t pid)
{
    struct process wanted = {.pid = pid};
    if (table->count == 0)
        return NULL;
    return bsearch(&wanted, table->each, table->count, sizeof(wanted), by_pid);
}

enum place { UNKNOWN, FOUND, UNTOUCHABLE };

/* Whom to end, parents before their children: what is below us if there are no marks, else what carries one, is one of the
   `heads`, or is below one of these, but neither us nor our ancestors. */
static void look(const struct marks *marks, const struct processes *heads, struct processes *found)
{
    static const struct marks none;
    static struct processes table;
    int is_more = 1;

    read_table(&table, marks ? marks : &none);
    found->count = 0;
    enum place *places = calloc(table.count + 1, sizeof(*places));
    if (places == NULL)
        _exit(1);
    struct process *ours = look_up(&table, getpid());
    if (marks == NULL && ours != NULL)
        places[ours - table.each] = FOUND;
    for (; marks != NULL && ours != NULL && places[ours - table.each] == UNKNOWN; ours = look_up(&table, ours->parent))
        places[ours - table.each] = UNTOUCHABLE;
    while (is_more) {
        is_more = 0;
        for (size_t row = 0; row < table.count; row++) {
            const struct process *each = &table.each[row], *parent;
            if (places[row] != UNKNOWN)
                continue;
            int is_head = marks != NULL && (each->is_marked || known(heads, each));
            if (is_head || ((parent = look_up(&table, each->parent)) && places[parent - table.each] == FOUND)) {
                places[row] = FOUND;
                add(found, *each);
                is_more = 1;
            }
        }
    }
    free(places);
}

static void signal_from(const struct processes *list, size_t first, int number)
{
    for (size_t place = first; place < list->count; place++)
        kill(list->each[place].pid, number);
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* Hold them, and what they have started meanwhile, which is added to them. */
static void stop(const struct marks *marks, const struct processes *done, struct processes *held)
{
    static struct processes heads, members;
    size_t fresh = 0;

    for (int looks = 0; looks < MOST_LOOKS; looks++) {
        signal_from(held, fresh, SIGSTOP);
        fresh = held->count;
        heads.count = 0;
        for (size_t place = 0; place < done->count; place++)
            add(&heads, done->each[place]);
        for (size_t place = 0; place < held->count; place++)
            add(&heads, held->each[place]);
        look(marks, &heads, &members);
        for (size_t place = 0; place < members.count; place++)
            if (!known(&heads, &members.each[place]))
                add(held, members.each[place]);
        if (held->count == fresh)
            return;
    }
}

/* TERM, then KILL; looks again and again, because what dies may leave children. */
static void end_all(const struct marks *marks)
{
    struct processes done = {0}, members = {0}, addressed = {0};
    double began = now();
    int clean_looks = 0;

    while (now() - began < LONGEST_SECONDS) {
        look(marks, &done, &members);
        clean_looks = members.count ? 0 : clean_looks + 1;
        if (clean_looks == 2)
            return;
        int number = now() - began < GRACE_SECONDS ? SIGTERM : SIGKILL;
        addressed.count = 0;
        for (size_t place = 0; place < members.count; place++) {
            const struct process *before = known(&done, &members.each[place]);
            if (before == NULL || before->signalled != number)
                add(&addressed, members.each[place]);
        }
        if (addressed.count) {
            stop(marks, &done, &addressed);
            for (size_t place = 0; place < addressed.count; place++) {
                struct process *before = known(&done, &addressed.each[place]);
                if (before == NULL) {
                    add(&done, addressed.each[place]);
                    before = &done.each[done.count - 1];
                }
                before->signalled = number;
            }
            signal_from(&addressed, 0, number);
            signal_from(&addressed, 0, SIGCONT);
        }
        struct timespec pause = {0, (long)(POLL_SECONDS * 1e9)};
        nanosleep(&pause, NULL);
    }
}

/* --- the keeper of one program --- */

/* A request is a number of arguments, the program, the folder, the arguments, and the environment: each with a zero behind it.
   Returns only if it cannot be done, with errno. */
static void do_request(char *message, size_t length, const int *standard, int gate, pid_t keeper)
{
    size_t count = 0, place = 0;

    for (size_t byte = 0; byte < length; byte++)
        count += message[byte] == 0;
    char **words = calloc(count + 2, sizeof(*words));
    if (words == NULL)
        return;
    for (size_t byte = 0; byte < length && place < count; byte += strlen(message + byte) + 1)
        words[place++] = message + byte;
    errno = EINVAL;
    if (count < 3 || message[length - 1] != 0)
        return;
    size_t arguments = strtoul(words[0], NULL, 10);
    if (arguments > count - 3)
        return;
    char *program = words[1], *folder = words[2], **argv = words + 2, **environment = words + 3 + arguments;
    memmove(argv, words + 3, arguments * sizeof(*words)); /* makes room for the end of the arguments */
    argv[arguments] = NULL;
    if (chdir(folder) != 0)
        return;
    for (int each = 0; each < STANDARD; each++)
        if (dup2(standard[each], each) < 0)
            return;
    if (getppid() != keeper) {
        say(gate, "lost", -1);
        _exit(255);
    }
    execve(program, argv, environment);
}

static char *read_request(int file, size_t *length)
{
    struct stat about;
    char *message = NULL;

    *length = 0;
    if (fstat(file, &about) != 0)
        return NULL;
    size_t size = (size_t)about.st_size;
    message = malloc(size + 1);
    while (message != NULL && *length < size) {
        ssize_t got = pread(file, message + *length, size - *length, (off_t)*length);
        if (got <= 0)
            return NULL;
        *length += (size_t)got;
    }
    return message;
}

static void become_program(int gate, pid_t keeper)
{
    static char message[LONGEST_MESSAGE];
    int descriptors[STANDARD + 1];
    size_t count;
    char *request = message;

    setsid();
    for (size_t each = 0; each < NUMBER_OF(often_ignored); each++)
        if (is_usual[each])
            signal(often_ignored[each], SIG_DFL);
    for (size_t each = 0; each < NUMBER_OF(ignored_here); each++)
        signal(ignored_here[each], SIG_DFL);
    ssize_t got = receive(gate, message, sizeof(message), descriptors, STANDARD + 1, &count);
    size_t length = got > 0 ? (size_t)got : 0;
    if (length == 0)
        return;
    if (count < STANDARD || (count == STANDARD && message[length - 1] != 0)) { /* more could not be opened */
        request = NULL;
        errno = EMFILE;
    } else if (count > STANDARD)
        request = read_request(descriptors[STANDARD], &length);
    if (request != NULL)
        do_request(request, length, descriptors, gate, keeper);
    say_why_not(gate, errno ? errno : EINVAL);
}

/* The pid of what will be the program; `gate` is ralph's end of the socket on which it waits. */
static pid_t make_ready(int control, const sigset_t *usual, int *gate)
{
    pid_t keeper = getpid();
    int ends[2];

    pid_t pid = socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0 ? fork() : -1;
    if (pid < 0) {
        say_why_not(control, errno);
        _exit(1);
    }
    if (pid == 0) {
        close(control); /* whoever waits for their end waits for the keeper's */
        close(ends[1]);
        sigprocmask(SIG_SETMASK, usual, NULL);
        become_program(ends[0], keeper);
        _exit(255);
    }
    close(ends[0]);
    *gate = ends[1];
    return pid;
}

/* Whether the root has just ended, with which status, and whether no child is left. */
static int reap(pid_t root, int *status, int *is_alone)
{
    int has_ended = 0, ended;

    for (;;) {
        pid_t pid = waitpid(-1, &ended, WNOHANG);
        if (pid < 0 && errno == EINTR)
            continue;
        *is_alone = pid < 0;
        if (pid <= 0)
            return has_ended;
        if (pid == root) {
            has_ended = 1;
            *status = ended;
        }
    }
}

_Noreturn static void take_leave(int control, pid_t root, struct pollfd *deaths)
{
    char farewell[16];
    int status, is_alone;
    ssize_t length;

    do /* that ralph did not read all is told first, and once */
        length = recv(control, farewell, sizeof(farewell), 0);
    while (length < 0 && (errno == EINTR || errno == ECONNRESET));
    char word = length == 1 ? farewell[0] : 0;
    if (word == 'e' && root) {
        kill(root, SIGKILL);
        poll(deaths, 1, 1000); /* or it would be an orphan */
    } else if (word != 'b')
        end_all(NULL);
    reap(root, &status, &is_alone);
    _exit(0);
}

_Noreturn static void keep(int control)
{
    sigset_t death, usual;
    int gate, status, is_alone;
    char words[64];

    signal(SIGCHLD, SIG_DFL);
    sigemptyset(&death);
    sigaddset(&death, SIGCHLD);
    sigprocmask(SIG_BLOCK, &death, &usual);
    pid_t root = make_ready(control, &usual, &gate);
    setsid();
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    struct pollfd watched[] = {{control, POLLIN, 0}, {signalfd(-1, &death, SFD_CLOEXEC), POLLIN, 0}};
    if (watched[1].fd < 0)
        _exit(1);
    snprintf(words, sizeof(words), "ready %d %d", getpid(), root);
    say(control, words, gate);
    close(gate);
    for (;;) {
        /* Also before the first wait: the root may have been ended before that could wake anybody. */
        if (reap(root, &status, &is_alone)) {
            root = 0;
            snprintf(words, sizeof(words), "exit %d %d", status, !is_alone);
            say(control, words, -1);
        }
        if (watched[0].revents)
            take_leave(control, root, &watched[1]);
        struct signalfd_siginfo one;
        if (poll(watched, NUMBER_OF(watched), -1) > 0 && watched[1].revents)
            (void)!read(watched[1].fd, &one, sizeof(one));
    }
}

/* --- the watcher --- */

static char *mark_of(const char *run_id, size_t length)
{
    static const char name[] = "RALPH_RUN_ID=";
    char *mark = grown(NULL, sizeof(name) + length);

    memcpy(mark, name, sizeof(name) - 1);
    memcpy(mark + sizeof(name) - 1, run_id, length);
    mark[sizeof(name) - 1 + length] = 0;
    return mark;
}

static void add_mark(struct marks *marks, const char *run_id, size_t length)
{
    marks->each = grown(marks->each, (marks->count + 1) * sizeof(*marks->each));
    marks->each[marks->count++] = mark_of(run_id, length);
}

static void discard_mark(struct marks *marks, const char *run_id, size_t length)
{
    char *mark = mark_of(run_id, length);

    for (size_t place = 0; place < marks->count; place++)
        if (strcmp(marks->each[place], mark) == 0) {
            free(marks->each[place]);
            marks->each[place--] = marks->each[--marks->count];
        }
    free(mark);
}

/* A program may have stopped its own: it would not see that ralph is gone. */
static void continue_keepers(void)
{
    static const struct marks none;
    struct processes table = {0};

    read_table(&table, &none);
    for (size_t row = 0; row < table.count; row++)
        if (table.each[row].parent == getpid())
            kill(table.each[row].pid, SIGCONT);
}

/* The first argument is the descriptor of this program; then come the ids of runs. Standard input is the socket to ralph. */
int main(int argc, char **argv)
{
    struct marks marks = {0};
    char message[LONGEST];
    int control;
    size_t has_control;

    if (argc < 2) {
        puts(format);
        return 2;
    }
    for (size_t each = 0; each < NUMBER_OF(often_ignored); each++)
        is_usual[each] = signal(often_ignored[each], SIG_IGN) != SIG_IGN;
    for (size_t each = 0; each < NUMBER_OF(ignored_here); each++)
        signal(ignored_here[each], SIG_IGN);
    signal(SIGCHLD, SIG_IGN); /* a keeper that has ended leaves nothing behind */
    prctl(PR_SET_NAME, "watcher", 0, 0, 0); /* else it would be listed by the number of its descriptor */
    close(atoi(argv[1]));
    for (int each = 2; each < argc; each++)
        add_mark(&marks, argv[each], strlen(argv[each]));
    for (;;) {
        ssize_t length = receive(0, message, sizeof(message), &control, 1, &has_control);
        if (length > 0 && message[0] == '+')
            add_mark(&marks, message + 1, (size_t)length - 1);
        else if (length > 0 && message[0] == '-')
            discard_mark(&marks, message + 1, (size_t)length - 1);
        else if (length > 0 && message[0] == 'k' && has_control) {
            pid_t keeper = fork();
            if (keeper == 0) {
                dup2(1, 0); /* the watcher's own socket must end with the watcher */
                keep(control);
            }
            if (keeper < 0)
                say_why_not(control, errno);
            close(control);
        } else if (length == 0 || (length < 0 && errno == ECONNRESET)) { /* ralph was killed */
            continue_keepers();
            end_all(&marks);
            continue_keepers(); /* some may have been stopped again meanwhile */
            _exit(0);
        } else if (length < 0 || message[0] == 'b')
            _exit(length < 0);
    }
}
