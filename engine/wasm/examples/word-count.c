/*
 * Counts words, as the map phase and as the reduce phase of one job. Of each value it takes the words of `value` where
 * that is a text (an object, as a map phase is given it), or else adds up its numbers by name (what an earlier phase of
 * this module made). Its output is one object: words in lower case, and how often each was there.
 *
 * Build: see README.md. No library; the little CBOR that is needed (RFC 8949) stands below.
 */
typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long long u64;

extern u8 __heap_base;
static u8 *top = &__heap_base;

__attribute__((export_name("phase_alloc"))) void *phase_alloc(u32 length) {
  u8 *at = top;
  top += (length + 7) & ~7u;
  u32 pages = ((u32)top + 65535) >> 16;
  u32 have = __builtin_wasm_memory_size(0);
  if (pages > have && __builtin_wasm_memory_grow(0, pages - have) == (u32)-1) __builtin_trap();
  return at;
}

struct input { const u8 *at; const u8 *end; };
struct head { u32 major; u64 value; };
struct word { const u8 *text; u32 length; u64 count; };

static struct word *words;
static u32 *slots; /* 0: free; otherwise one more than the place in `words` */
static u32 count, capacity;

static int same(const u8 *left, const u8 *right, u32 length) {
  for (u32 at = 0; at < length; at++) if (left[at] != right[at]) return 0;
  return 1;
}

static u32 hash(const u8 *text, u32 length) {
  u32 value = 2166136261u;
  for (u32 at = 0; at < length; at++) value = (value ^ text[at]) * 16777619u;
  return value;
}

static void add(const u8 *text, u32 length, u64 times);

static void make_room(void) {
  struct word *before = words;
  u32 known = count;
  capacity = capacity ? capacity * 2 : 256;
  words = phase_alloc(capacity * sizeof *words);
  slots = phase_alloc(capacity * 2 * sizeof *slots);
  __builtin_memset(slots, 0, capacity * 2 * sizeof *slots);
  count = 0;
  for (u32 at = 0; at < known; at++) add(before[at].text, before[at].length, before[at].count);
}

static void add(const u8 *text, u32 length, u64 times) {
  if (count == capacity) make_room();
  u32 mask = capacity * 2 - 1;
  u32 slot = hash(text, length) & mask;
  for (; slots[slot]; slot = (slot + 1) & mask) {
    struct word *word = &words[slots[slot] - 1];
    if (word->length == length && same(word->text, text, length)) {
      word->count += times;
      return;
    }
  }
  words[count] = (struct word){text, length, times};
  slots[slot] = ++count;
}

/* A malformed input cannot come from a node; it traps. */
static struct head read_head(struct input *in) {
  if (in->at >= in->end) __builtin_trap();
  u8 first = *in->at++;
  struct head head = {first >> 5, first & 31};
  if (head.value < 24) return head;
  if (head.value > 27) __builtin_trap();
  u32 bytes = 1u << (head.value - 24);
  if ((u32)(in->end - in->at) < bytes) __builtin_trap();
  head.value = 0;
  while (bytes--) head.value = head.value << 8 | *in->at++;
  return head;
}

static const u8 *take(struct input *in, u64 length) {
  if ((u64)(in->end - in->at) < length) __builtin_trap();
  const u8 *at = in->at;
  in->at += length;
  return at;
}

static void skip(struct input *in) {
  for (u64 left = 1; left; left--) {
    struct head head = read_head(in);
    if (head.major == 2 || head.major == 3) take(in, head.value);
    if (head.major == 4) left += head.value;
    if (head.major == 5) left += head.value * 2;
    if (head.major == 6) left += 1;
  }
}

static int is_letter(u8 byte) {
  return (byte >= 'a' && byte <= 'z') || (byte >= '0' && byte <= '9') || byte >= 0x80;
}

static void count_words(const u8 *text, u32 length) {
  u8 *lower = phase_alloc(length);
  for (u32 at = 0; at < length; at++) lower[at] = text[at] >= 'A' && text[at] <= 'Z' ? text[at] + 32 : text[at];
  for (u32 at = 0; at < length;) {
    u32 start = at;
    while (at < length && is_letter(lower[at])) at++;
    if (at > start) add(lower + start, at - start, 1);
    else at++;
  }
}

/* The text under `value`; 0 where there is none. Leaves `in` at the first field. */
static const u8 *value_text(struct input in, u64 fields, u32 *length) {
  for (; fields; fields--) {
    struct head name = read_head(&in);
    const u8 *text = take(&in, name.value);
    struct input value = in;
    struct head what = read_head(&value);
    if (what.major == 3 && name.value == 5 && same(text, (const u8 *)"value", 5)) {
      *length = (u32)what.value;
      return take(&value, what.value);
    }
    skip(&in);
  }
  return 0;
}

static void take_value(struct input *in) {
  struct input fields = *in;
  struct head head = read_head(&fields);
  skip(in);
  if (head.major != 5) return;
  u32 length;
  const u8 *text = value_text(fields, head.value, &length);
  if (text) {
    count_words(text, length);
    return;
  }
  for (u64 left = head.value; left; left--) {
    struct head name = read_head(&fields);
    const u8 *word = take(&fields, name.value);
    struct input value = fields;
    struct head what = read_head(&value);
    if (what.major == 0) add(word, (u32)name.value, what.value);
    skip(&fields);
  }
}

static u8 *write_head(u8 *to, u32 major, u64 value) {
  if (value < 24) {
    *to++ = (u8)(major << 5 | value);
    return to;
  }
  *to++ = (u8)(major << 5 | 27);
  for (int shift = 56; shift >= 0; shift -= 8) *to++ = (u8)(value >> shift);
  return to;
}

__attribute__((export_name("phase_apply"))) int phase_apply(const u8 *bytes, u32 length, u8 **out, u32 *out_length) {
  struct input in = {bytes, bytes + length};
  struct head head = read_head(&in);
  for (u64 left = head.value; left; left--) take_value(&in);
  u32 size = 32;
  for (u32 at = 0; at < count; at++) size += words[at].length + 18;
  u8 *start = phase_alloc(size);
  u8 *to = write_head(start, 4, 1);
  to = write_head(to, 5, count);
  for (u32 at = 0; at < count; at++) {
    to = write_head(to, 3, words[at].length);
    __builtin_memcpy(to, words[at].text, words[at].length);
    to = write_head(to + words[at].length, 0, words[at].count);
  }
  *out = start;
  *out_length = (u32)(to - start);
  return 0;
}
