/* Finds the first of many signs in a block of bytes. What the signs are is told by whoever calls: see sign_search.py.

   The literal of a sign is looked for by two of its bytes. Only every second place of a block is looked up, in a table of all
   pairs of bytes; so a sign is entered with two pairs that overlap, and is met at one of them wherever it begins. Each of
   the two is looked at only beside the third byte. */

#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define LONGEST 24
#define BUCKETS 256
#define ENTRIES 2048

struct sign {
    uint8_t length;       /* of the literal */
    uint8_t is_exact;     /* as it is written; else compared after folding */
    uint8_t then_length;  /* 0: anything may follow */
    uint8_t then[5];      /* what must be met after what is passed over, folded */
    uint16_t before;      /* classes of bytes to pass over, backwards from the literal */
    uint16_t stop;        /* classes of which the byte before those must be one; 0: anything may stand there */
    uint16_t after;       /* classes of bytes to pass over, onwards from the literal */
    uint16_t within;      /* where more bytes would have to be passed over, it is taken for a sign */
    uint8_t literal[LONGEST];
};

struct entry {
    uint16_t sign;
    uint16_t next;               /* of the same bucket; 0: none */
    uint16_t back;               /* where in its literal the pair is */
};

struct tables {
    uint8_t fold[256];
    uint16_t classes[256];
    uint8_t buckets[65536];      /* by pair, as `pair_at` reads it; 0: no sign has it */
    uint8_t pairs[BUCKETS][2];   /* of each bucket, folded; from 1 on */
    uint8_t beside[2][BUCKETS][32];  /* which bytes may follow the pair, and which may precede it: a bit for each */
    uint16_t first[BUCKETS];     /* entry of each bucket */
    struct entry entries[ENTRIES];  /* from 1 on */
};

/* Two bytes as one number, in the order of this machine: they are read at once. */
static uint16_t pair_at(const uint8_t *at)
{
    uint16_t pair;
    memcpy(&pair, at, sizeof pair);
    return pair;
}

static int matches(const struct tables *all, const uint8_t *at, const uint8_t *end, const uint8_t *folded, int length)
{
    if (end - at < length)
        return 0;
    for (int place = 0; place < length; place++)
        if (all->fold[at[place]] != folded[place])
            return 0;
    return 1;
}

static int follows(const struct tables *all, const struct sign *sign, const uint8_t *at, const uint8_t *end)
{
    for (int passed = 0; at < end; at++, passed++) {
        if (matches(all, at, end, sign->then, sign->then_length))
            return 1;
        if (!(all->classes[*at] & sign->after))
            return 0;
        if (passed == sign->within)
            return 1;
    }
    return 0;
}

static int precedes(const struct tables *all, const struct sign *sign, const uint8_t *start, const uint8_t *at)
{
    for (int passed = 0; at-- > start; passed++) {
        if (all->classes[*at] & sign->stop)
            return 1;
        if (!(all->classes[*at] & sign->before))
            return 0;
        if (passed == sign->within)
            return 1;
    }
    return 0;
}

static int is_sign(const struct tables *all, const struct sign *sign, const uint8_t *start, const uint8_t *at,
                   const uint8_t *end)
{
    if (sign->is_exact ? end - at < sign->length || memcmp(at, sign->literal, sign->length)
                       : !matches(all, at, end, sign->literal, sign->length))
        return 0;
    if (sign->stop && !precedes(all, sign, start, at))
        return 0;
    return !sign->then_length || follows(all, sign, at + sign->length, end);
}

/* The bucket of a folded pair; when there are no more, it shares one with others. */
static int bucket_of(struct tables *all, uint8_t one, uint8_t other)
{
    int bucket = 1;
    for (; bucket < BUCKETS && all->first[bucket]; bucket++)
        if (all->pairs[bucket][0] == one && all->pairs[bucket][1] == other)
            return bucket;
    if (bucket == BUCKETS)
        return 1 + (31 * one + other) % (BUCKETS - 1);
    all->pairs[bucket][0] = one;
    all->pairs[bucket][1] = other;
    return bucket;
}

/* `side` 0: the pair at `back` is followed by the third byte; 1: it is preceded by that. */
static int enter(struct tables *all, const struct sign *sign, int number, int back, int side, int entry)
{
    uint8_t third = sign->literal[side ? back - 1 : back + 2];
    uint8_t one = sign->literal[back], other = sign->literal[back + 1];
    int bucket = bucket_of(all, all->fold[one], all->fold[other]);
    if (entry >= ENTRIES)
        return 0;
    all->entries[entry] = (struct entry){(uint16_t)number, all->first[bucket], (uint16_t)back};
    all->first[bucket] = (uint16_t)entry;
    for (int code = 0; code < 256; code++)
        if (sign->is_exact ? code == third : all->fold[code] == third)
            all->beside[side][bucket][code >> 3] |= (uint8_t)(1 << (code & 7));
    if (sign->is_exact)
        all->buckets[pair_at(sign->literal + back)] = (uint8_t)bucket;
    else
        for (int first = 0; first < 256; first++)
            for (int second = 0; all->fold[first] == one && second < 256; second++)
                if (all->fold[second] == other)
                    all->buckets[pair_at((const uint8_t[]){(uint8_t)first, (uint8_t)second})] = (uint8_t)bucket;
    return 1;
}

/* Another number whenever what is handed over changes: the library may be older than whoever loads it. */
int format(void)
{
    return 1;
}

size_t size_of_tables(void)
{
    return sizeof(struct tables);
}

/* Fills tables that are all zero but for `fold` and `classes`. `frequency`: how often texts have each byte, roughly; the rarest
   pairs are entered. 0: these are too many signs, or one is too short or too long. */
int prepare(struct tables *all, const struct sign *signs, int count, const uint8_t *frequency)
{
    int entry = 1;
    for (int number = 0; number < count; number++) {
        const struct sign *sign = signs + number;
        int best = 0, least = INT_MAX;
        for (int back = 0; back + 3 <= sign->length; back++) {
            const uint8_t *part = sign->literal + back;
            int often = frequency[part[1]] * (frequency[part[0]] + frequency[part[2]]);
            if (often < least) {
                best = back;
                least = often;
            }
        }
        if (sign->length < 3 || sign->length > LONGEST || sign->then_length > sizeof sign->then || !enter(all, sign, number, best, 0, entry++)
            || !enter(all, sign, number, best + 1, 1, entry++))
            return 0;
    }
    return 1;
}

static int has(const uint8_t *bits, uint8_t code)
{
    return bits[code >> 3] >> (code & 7) & 1;
}

/* Where the first sign is from `from` on, as if the block began there; -1: there is none. */
ptrdiff_t find_sign(const struct tables *all, const struct sign *signs, const uint8_t *block, ptrdiff_t size, ptrdiff_t from)
{
    for (ptrdiff_t place = from; place + 1 < size; place += 2) {
        uint8_t bucket = all->buckets[pair_at(block + place)];
        if (!bucket)
            continue;
        int is_near = (place + 2 < size && has(all->beside[0][bucket], block[place + 2]))
                      || (place > from && has(all->beside[1][bucket], block[place - 1]));
        if (!is_near)
            continue;
        for (int number = all->first[bucket]; number; number = all->entries[number].next) {
            const struct entry *entry = &all->entries[number];
            ptrdiff_t begin = place - entry->back;
            if (begin >= from && is_sign(all, signs + entry->sign, block + from, block + begin, block + size))
                return begin;
        }
    }
    return -1;
}
