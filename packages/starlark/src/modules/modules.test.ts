import { describe, expect, test } from 'vitest';
import { compile } from '../evaluate/program.js';
import { type RunOptions, run } from '../evaluate/run.js';
import { PERMISSIVE_DIALECT } from '../resolve/dialect.js';
import { parse } from '../syntax/parse.js';
import { repr } from '../values/repr.js';
import type { Value } from '../values/value.js';
import { STANDARD_MODULES } from './index.js';

const LOADS = [...STANDARD_MODULES]
  .filter(([path]) => path !== 'json.star')
  .map(([path, members]) => `load("${path}", "${[...members.keys()].join('", "')}")`)
  .join('\n');

function evaluate(expression: string, options: RunOptions = {}): Value {
  const tree = parse(`${LOADS}\nresult = ${expression}`, { file: 'test.star' });
  const program = compile(tree, { dialect: PERMISSIVE_DIALECT });
  const load = (path: string) => STANDARD_MODULES.get(path) as ReadonlyMap<string, Value>;
  return run(program, { load, ...options }).globals.get('result') as Value;
}

/** Expressions, and what starlark-go's command or kpt's starlark function gives for them. */
const RESULTS: readonly (readonly [string, string])[] = [
  [
    'json.encode({"b": [1, 2.5, None], "a": struct(x = True)})',
    `"{\\"a\\":{\\"x\\":true},\\"b\\":[1,2.5,null]}"`,
  ],
  ['json.encode("<\\u00e9>")', `"\\"\\\\u003cé\\\\u003e\\""`],
  ['json.encode("é"[:1])', `"\\"\\\\ufffd\\""`],
  ['json.encode(2 << 70)', '"2361183241434822606848"'],
  [
    'json.decode(\'{"b": [1, 1.0, -0], "a": "\\\\u00e9\\\\ud83d\\\\ude00"}\')',
    '{"b": [1, 1.0, 0], "a": "é😀"}',
  ],
  ['json.decode("[", default = 3)', '3'],
  ['json.decode("12345678901234567890")', '12345678901234567890'],
  [
    'json.indent(\'{"a":[1,2],"b":{},"c":"x, y"}\', indent = " ")',
    `"{\\n \\"a\\": [\\n  1,\\n  2\\n ],\\n \\"b\\": {},\\n \\"c\\": \\"x, y\\"\\n}"`,
  ],
  ['json.encode_indent([], prefix = ">")', '"[]"'],
  ['math.ceil(1.5), math.floor(-1.5), math.round(2.5), math.round(-0.5)', '(2, -2, 3.0, -1.0)'],
  [
    'math.pow(2, 10), math.mod(-7, 3), math.remainder(7, 4), math.copysign(1, -0.0)',
    '(1024.0, -1.0, -1.0, -1.0)',
  ],
  ['math.gamma(5), math.log(8, 2), math.hypot(3, 4)', '(24.0, 3.0, 5.0)'],
  ['re.match(r"(\\w+)@(\\w+)", "a@b, c@d")', '[("a@b", "a", "b"), ("c@d", "c", "d")]'],
  ['re.search("b+", "aébb")', '[3, 5]'],
  ['re.search("x", "a")', 'None'],
  ['re.findall("(?i)A.", "abAc")', '("ab", "Ac")'],
  ['re.split(r"\\s*,\\s*", "a , b,c")', '("a", "b", "c")'],
  ['re.split(",", "a,b,c", 2)', '("a", "b,c")'],
  [`re.sub(r"(?P<k>\\w+)=(\\w+)", "\${2}:$k", "a=1 b=2")`, '"1:a 2:b"'],
  ['re.sub("a", "b", "aaa", count = 2)', '"bba"'],
  ['re.sub("", "-", "ab")', '"-a-b-"'],
  ['re.compile("a+").sub("x", "caat"), type(re.compile("a"))', '("cxt", "regexp")'],
  [
    'base64.encode("hello friend!", encoding = "url_raw"), base64.decode("aGk=")',
    '("aGVsbG8gZnJpZW5kIQ", "hi")',
  ],
  ['base64.decode(base64.encode("é"))', '"é"'],
  ['hash.md5("helloworld")', '"fc5e038d38a57032085441e7fe7010b0"'],
  ['hash.sha1("helloworld")', '"6adfb183a4a2c94a2f92dab5ade762a47889a5a1"'],
  ['hash.sha256("é")', '"4a99557e4033c3539de2eb65472017cad5f9557f7a0625a09f1c3f6e2ba69c4c"'],
  ['struct(b = 1, a = 2), struct(a = 1).a', '(struct(a = 2, b = 1), 1)'],
  ['time.parse_duration("-1h2m3.5s"), time.parse_duration("1.5ms") * 3', '(-1h2m3.5s, 4.5ms)'],
  ['time.parse_time("2020-06-26T17:38:36.5+02:00")', '2020-06-26 17:38:36.5 +0200 +0200'],
  ['time.parse_time("26 Jun 20 05:38 PM", format = "02 Jan 06 03:04 PM").unix', '1593193080'],
  [
    'time.time(year = 2024, month = 14, day = 31, hour = 1, location = "Europe/Berlin").format("Mon Jan _2 15:04:05 -07:00 2006")',
    '"Mon Mar  3 01:00:00 +01:00 2025"',
  ],
  ['time.from_timestamp(0, 5).format("2006-002 05.000000000")', '"1970-001 00.000000005"'],
  [
    'time.from_timestamp(10) - time.from_timestamp(8), time.from_timestamp(0) + time.hour',
    '(2s, 1970-01-01 01:00:00 +0000 UTC)',
  ],
];

test.each(RESULTS)('%s', (expression, expected) => {
  expect(repr(evaluate(expression))).toBe(expected);
});

test.each([
  ['json.encode({1: 2})', 'json.encode: dict has int key, want string'],
  [
    'json.encode({"a": [float("inf")]})',
    'json.encode: in dict key "a": at list index 0: cannot encode non-finite float +inf',
  ],
  ['json.encode(len)', 'json.encode: cannot encode builtin_function_or_method as JSON'],
  ['json.decode("[1, 01]")', 'json.decode: at offset 6, invalid number: 01'],
  ['json.decode("[1 2]")', `json.decode: at offset 3, got '2', want ',' or ']'`],
  ['json.decode("1 x")', `json.decode: at offset 2, unexpected character 'x' after value`],
  ['json.indent("[1,]")', `json.indent: invalid character ']' looking for beginning of value`],
  ['json.indent("{1")', `json.indent: invalid character '1' looking for beginning of object key string`],
  ['math.floor("a")', 'got string, want float or int'],
  ['math.log(2, 1)', 'division by zero'],
  ['re.match("(", "")', 'error parsing regexp: missing closing ): `(`'],
  ['base64.decode("a!")', 'illegal base64 data at input byte 1'],
  ['base64.decode("aGk")', 'illegal base64 data at input byte 3'],
  ['base64.encode("a", encoding = "x")', 'unsupported encoding format: "x"'],
  ['struct(1)', 'struct: unexpected positional arguments'],
  ['time.now()', 'time.now is not available: scripts have no clock'],
  ['time.parse_time("2020-13-01T00:00:00Z")', 'parsing time "2020-13-01T00:00:00Z": month out of range'],
  ['time.parse_time("x", location = "No/Where")', 'unknown time zone No/Where'],
  ['time.parse_duration("1x")', 'time: unknown unit "x" in duration "1x"'],
  ['time.hour / time.parse_duration("0")', 'time.duration division by zero'],
  ['time.from_timestamp(1 << 62)', 'time out of range'],
])('%s fails', (expression, problem) => {
  expect(() => evaluate(expression)).toThrow(problem);
});

describe('hostile input', () => {
  const small = { limits: { maxMemoryBytes: 20_000_000, maxSteps: 20_000_000 } };

  test.each([
    // Each level contains the one below twice.
    ['json.encode(shared(60))'],
    ['json.decode(json.encode(["a"] * 100) * 100000, None)'],
    ['json.indent("[" * 100000 + "]" * 100000)'],
    ['json.indent("[[[1]]]", indent = "x" * 10000000)'],
    ['re.sub("", "x" * 100000, "a" * 100000)'],
    ['re.sub("(.*)", "$1" * 100000, "a" * 100000)'],
    ['re.findall("a", "a" * 10000000)'],
    ['re.findall("(.*)" * 100 + "b", "a" * 100000)'],
    ['re.match("(a)" * 1000, "a" * 100000)'],
    ['re.compile("(?i)" + "[B-\\\\x{1e942}]" * 200)'],
    ['base64.encode("a" * 19000000)'],
    ['time.from_timestamp(0).format("January" * 3000000)'],
  ])('%s ends in a limit', (expression) => {
    const shared = `
def shared(depth):
    value = ["x"]
    for _ in range(depth):
        value = [value, value]
    return value
`;
    const tree = parse(`${LOADS}${shared}\nresult = ${expression}`, { file: 'test.star' });
    const program = compile(tree, { dialect: PERMISSIVE_DIALECT });
    const load = (path: string) => STANDARD_MODULES.get(path) as ReadonlyMap<string, Value>;
    expect(() => run(program, { load, ...small })).toThrow(/too (much memory|many steps)|string too long/);
  });

  test('a pattern is compiled once, however often it is used', () => {
    expect(repr(evaluate('len([1 for _ in range(5000) if re.match("a{1000}", "x") == []])'))).toBe('5000');
  });

  test('deep structures are errors', () => {
    expect(() => evaluate('json.decode("[" * 100000)')).toThrow('nested too deeply: the limit is 500');
    expect(() => evaluate('json.decode("1" * 200000 + "e+-")')).toThrow('more than 100000 characters');
    expect(() => evaluate('json.decode("{\\"a\\":" * 1000)')).toThrow('nested too deeply');
    expect(repr(evaluate('len(json.indent("[" * 1000 + "]" * 1000))'))).toBe('1001999');
  });

  test('no name of JavaScript is a member', () => {
    for (const name of ['json', 'math', 're', 'time', 'base64', 'hash', 'time.hour', 're.compile("a")']) {
      for (const member of ['constructor', '__proto__', 'toString', 'hasOwnProperty']) {
        expect(evaluate(`getattr(${name}, "${member}", None)`), `${name}.${member}`).toBeNull();
      }
    }
    expect(repr(evaluate('json.decode(\'{"__proto__": {"x": 1}}\')'))).toBe('{"__proto__": {"x": 1}}');
  });
});
