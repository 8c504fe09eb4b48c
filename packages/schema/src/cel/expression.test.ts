import { describe, expect, it } from 'vitest';
import type { JsonObject, JsonValue } from '../documents/definition.js';
import { CelBudget } from './budget.js';
import { compileCel, compileCondition, evaluateCondition, MAX_CEL_LENGTH, toCelValue } from './expression.js';

const resources: JsonObject[] = [
  { kind: 'ConfigMap', metadata: { name: 'my-config', labels: { app: 'a' } } },
  { kind: 'Deployment', metadata: { name: 'web' }, spec: { replicas: 3, ratio: 0.5 } },
];
const holds = (expression: string, variables: JsonObject = { resources }) =>
  evaluateCondition(expression, variables);

describe('compileCondition', () => {
  it.each([
    ["'yes'", 'string'],
    ['resources', undefined],
    ['resources.size()', 'int'],
    ['resources.map(r, r.kind)', 'list'],
    ['resources.filter(r, true)', 'list'],
    ["has(resources[0].a) ? 'yes' : 'no'", 'string'],
    ["resources.size() > 1 ? 1 : 'no'", 'int or string'],
    ["'a'.split(',')", 'list'],
    ['{true: false}', 'map'],
    ['null', 'null_type'],
    ['-1', 'int'],
    ["quantity('1').asInteger()", 'int'],
    ['true ? false : 1', undefined],
    ['resources[0].isTrue', undefined],
    ['resources.max()', undefined],
    ['resources.exists(r, true) && !resources.all(r, true)', undefined],
    ['resources.exists_one(r, true)', undefined],
    ["isQuantity('1')", undefined],
    ['1 + 1 == 2', undefined],
  ])('%s returns %s', (expression, types) => {
    const compiled = compileCondition(expression, ['resources']);
    const problem = 'problem' in compiled ? compiled.problem : undefined;
    expect(problem).toBe(types && `the expression must be a boolean, not ${types}`);
  });
});

describe('evaluateCondition', () => {
  it.each([
    ["resources.exists(r, r.kind == 'ConfigMap' && r.metadata.name == 'my-config')", true],
    ["resources.filter(r, r.kind == 'Deployment').size() > 0", true],
    ["resources.exists(r, r.kind == 'Deployment' && r.spec.replicas > 3)", false],
    ['resources.exists(r, has(r.spec) && r.spec.ratio == 0.5)', true],
    ["resources.exists_one(r, r.kind == 'ConfigMap')", true],
    ["resources.all(r, r.metadata.name.matches('^[[:alpha:]-]+$'))", true],
    ["resources.map(r, r.kind).indexOf('Deployment') == 1", true],
    ['resources.map(r, r.kind).isSorted()', true],
    ["resources[0].metadata.labels == {'app': 'a'}", true],
    ["'app' in resources[0].metadata.labels", true],
    ['resources.size() == 2 && type(resources[1].spec.replicas) == int', true],
  ])('%s is %s', (expression, value) => {
    expect(holds(expression)).toEqual({ value });
  });

  it.each([
    ["resources.exists(r, r.kind = 'ConfigMap')", /^syntax error after character \d+$/],
    ['resource.size() > 0', 'unknown variable resource'],
    ['resources.existed(r, true)', 'unknown function existed'],
    ['resources.length() > 0', 'unknown function length'],
    ['resources.size()', 'the expression must be a boolean, not int'],
    ["'yes'", 'the expression must be a boolean, not string'],
    ['resources[0].metadata.name', 'the expression must be a boolean, not string "my-config"'],
    ['resources[1].spec.replicas', 'the expression must be a boolean, not int 3'],
    ['resources[0].metadata', 'the expression must be a boolean, not map'],
    ['resources[0].spec.replicas > 1', /not found: spec/],
    ['resources[7].kind == "A"', /index/],
    ['1 / 0 == 1', /zero/],
    ['9223372036854775807 + 1 > 0', /overflow/],
    ["'a'.matches('(?=a)')", /the regular expression "\(\?=a\)" is not valid/],
    ["resources[0].constructor == 'a'", /not found: constructor/],
    ['', 'syntax error after character 0'],
    [`${' '.repeat(MAX_CEL_LENGTH)}true`, 'the expression has more than 10,000 characters'],
  ])('%s has the problem %s', (expression, problem) => {
    const outcome = holds(expression);
    expect(outcome).toEqual({
      problem: problem instanceof RegExp ? expect.stringMatching(problem) : problem,
    });
  });

  it('reads the fields of a resource as its own, not those of JavaScript objects', () => {
    const resource = JSON.parse('{"__proto__": {"a": 1}, "toString": "b"}') as JsonValue;
    expect(holds("r['__proto__'].a == 1 && r.toString == 'b' && !has(r.valueOf)", { r: resource })).toEqual({
      value: true,
    });
  });
});

describe('hostile expressions', () => {
  const list = `[${Array.from({ length: 100 }, (_, index) => index).join(',')}]`;
  const many = Array.from({ length: 3_000 }, (_, index) => ({ name: `n${index}` }));
  const doubled = (times: number, first: string) =>
    `[${first}]${'.map(a, a + a)'.repeat(times)}[0].size() > 0`;
  it.each([
    ['loops in loops', `${list}.all(a, ${list}.all(b, ${list}.all(c, ${list}.all(d, a + b + c + d >= 0))))`],
    ['loops whose errors are ignored', `${list}.all(a, ${list}.all(b, ${list}.all(c, a / 0 > b))) || true`],
    ['a loop over resources in a loop', 'many.exists(a, many.exists(b, a.name == b))'],
    ['a text that doubles', doubled(40, `'${'a'.repeat(100)}'`)],
    ['a replacement that grows', `'aaaaaaaaaa'${".replace('a', 'aaaaaaaaaa')".repeat(12)} == ''`],
    [
      'a comparison of lists that double',
      `[1]${'.map(a, [a, a])'.repeat(40)} == [2]`.replace('[1]', '[[1, 2]]'),
    ],
    ['searches that read the rest of a text each time', "long.findAll('y*yz|y').size() > 0"],
    ['addresses', "many.all(a, many.all(b, ip('2001:db8::1').isGlobalUnicast()))"],
    ['queries with one name', 'many.all(a, many.all(b, url(query).getQuery().size() > 0))'],
    ['a slow regular expression', "many.all(a, many.all(b, b.name.matches('^(a+)+n{100}$') || true))"],
  ])('stops %s at its cost, each time alike', (_name, expression) => {
    const expected = { problem: 'the expression costs too much: it loops over too many values' };
    const begin = process.cpuUsage();
    const variables = { resources, many, long: 'y'.repeat(200_000), query: `/?${'a=1&'.repeat(40_000)}` };
    expect(evaluateCondition(expression, variables)).toEqual(expected);
    expect(evaluateCondition(expression, variables)).toEqual(expected);
    expect(process.cpuUsage(begin).user).toBeLessThan(30_000_000);
  });

  it.each([
    ['parentheses', `${'('.repeat(4_000)}1${')'.repeat(4_000)} == 1`],
    ['open brackets', '-('.repeat(4_000)],
    ['lists', '['.repeat(4_000)],
    ['maps', '{1:'.repeat(2_000)],
    ['additions', `${Array(4_900).fill('1').join('+')} > 0`],
    ['fields', `resources${'.b'.repeat(4_900)}`],
    ['conditions', `${'true?1:'.repeat(1_400)}2`],
  ])('refuses thousands of nested %s in a short time', (_name, expression) => {
    const begin = process.cpuUsage();
    expect(holds(expression)).toHaveProperty('problem');
    expect(process.cpuUsage(begin).user).toBeLessThan(20_000_000);
  });

  it('accepts loops over each resource of a large package', () => {
    const large = Array.from({ length: 20_000 }, (_, index) => ({ kind: 'K', index }));
    const expression =
      "resources.filter(r, r.kind == 'K').map(r, r.index).exists(i, i == 19999) && resources.size() > 9";
    expect(holds(expression, { resources: large })).toEqual({ value: true });
  });

  it('lets expressions share a budget', () => {
    const compiled = compileCel('[1, 2, 3].all(x, x > 0)', []);
    if ('problem' in compiled) throw new Error(compiled.problem);
    const budget = new CelBudget(12);
    expect(compiled.evaluate({}, budget)).toEqual({ value: true });
    expect(compiled.evaluate({}, budget)).toHaveProperty('problem');
    expect(compiled.evaluate({}, new CelBudget(12))).toEqual({ value: true });
  });
});

describe('the functions of Kubernetes', () => {
  it.each([
    '[1, 2, 2].isSorted() && ![2, 1].isSorted() && [].isSorted()',
    '[1, 2, 3].sum() == 6 && [0.5, 1.5].sum() == 2.0 && [].sum() == 0',
    "[3, 1, 2].min() == 1 && ['a', 'b'].max() == 'b'",
    "['a', 'b', 'a'].lastIndexOf('a') == 2 && ['a'].indexOf('b') == -1",
    "[duration('1h'), duration('10m')].max() == duration('60m')",
    "'abc 123'.find('[0-9]+') == '123' && 'abc'.find('[0-9]+') == ''",
    "'123 abc 456'.findAll('[0-9]+') == ['123', '456'] && '1 2 3'.findAll('[0-9]', 2) == ['1', '2']",
    "'a,b,c'.split(',') == ['a', 'b', 'c'] && 'a,b,c'.split(',', 2) == ['a', 'b,c'] && 'ab'.split('', 1) == ['ab']",
    "'banana'.replace('a', 'o', 2) == 'bonona' && 'aa'.replace('a', 'ba') == 'baba' && 'ab'.replace('', '-') == '-a-b-'",
    "['a', 'b'].join('-') == 'a-b' && [].join() == ''",
    "'Ab'.lowerAscii() == 'ab' && ' a '.trim() == 'a' && 'abc'.substring(1, 2) == 'b'",
    "quantity('1.5Gi').isGreaterThan(quantity('1500M')) && quantity('1000m') == quantity('1')",
    "quantity('50k').add(quantity('20k')).sub(10000) == quantity('60k') && quantity('-1').sign() == -1",
    "isQuantity('1e3') && !isQuantity('1 Gi') && quantity('2Ki').asInteger() == 2048",
    "!quantity('50m').isInteger() && quantity('50m').asApproximateFloat() == 0.05",
    "quantity('1').compareTo(quantity('2')) == -1",
  ])('%s', (expression) => {
    expect(evaluateCondition(expression, {})).toEqual({ value: true });
  });

  it.each([
    "quantity('x') == quantity('1')",
    "quantity('1.5').asInteger() == 1",
    "[1, 'a'].min() == 1",
    '[].max() == 1',
    "{'a': 1}.isInteger()",
  ])('%s is an error', (expression) => {
    expect(evaluateCondition(expression, {})).toHaveProperty('problem');
  });
});

describe('toCelValue', () => {
  it('makes integers of numbers without a fraction', () => {
    expect(toCelValue([1, 1.5])).toEqual([1n, 1.5]);
  });
});
