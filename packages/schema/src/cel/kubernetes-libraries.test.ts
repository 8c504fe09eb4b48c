import { describe, expect, it } from 'vitest';
import { checkRules, uncheckedRule } from './check-rules.js';
import { compileCel, evaluateCondition } from './expression.js';

/** What Kubernetes adds to the language. The functions for quantities, lists, and texts are in expression.test.ts. */

const holds = (expression: string) =>
  evaluateCondition(expression, { m: { a: 1, b: 2 }, l: ['x', 'y'], e: 5, none: {} });

describe('macros with two variables', () => {
  it.each([
    ['m.all(k, v, k in m && m[k] == v)', true],
    ['m.all(k, v, v > 1)', false],
    ['l.all(i, v, l[i] == v)', true],
    ["l.exists(i, v, i == 1 && v == 'y')", true],
    ['m.existsOne(k, v, v > 1)', true],
    ['m.existsOne(k, v, v > 0)', false],
    ["l.transformList(i, v, v + string(i)) == ['x0', 'y1']", true],
    ["l.transformList(i, v, i > 0, v) == ['y']", true],
    ["m.transformMap(k, v, v * 2) == {'a': 2, 'b': 4}", true],
    ["m.transformMap(k, v, k != 'a', v * 2) == {'b': 4}", true],
    ["m.transformMapEntry(k, v, {v: k}) == {1: 'a', 2: 'b'}", true],
    ['none.all(k, v, false) && !none.exists(k, v, true)', true],
    // Names of inner loops, and names that the loops themselves use.
    ["m.all(k, v, l.all(k, v, v in ['x', 'y']) && k in m)", true],
    ["m.all(k, v, l.exists(k, k == 'x') && k in m)", true],
    ['m.all(k, v, e == 5)', true],
    ['m.all(e, r, r > 0 && e in m)', true],
    ["l.all(i, v, l.transformList(j, w, [i, j]).size() == 2 && v in l && {'k': v}.k == v)", true],
  ])('%s is %s', (expression, value) => {
    expect(holds(expression)).toEqual({ value });
  });

  it.each([
    ['e.all(k, v, true)', 'only lists and maps have items'],
    ["l.transformMapEntry(i, v, {'k': v})", 'the key k already exists'],
  ])('%s has the problem %s', (expression, problem) => {
    const compiled = compileCel(`${expression} == {}`, ['e', 'l']);
    const outcome =
      'problem' in compiled ? compiled : compiled.evaluate({ e: 5n, l: ['x', 'y'] as unknown as never });
    expect(outcome).toMatchObject({ problem: expect.stringContaining(problem) });
  });

  it('costs as much as other loops', () => {
    const many = Object.fromEntries(Array.from({ length: 2_000 }, (_, at) => [`k${at}`, at]));
    expect(evaluateCondition('many.all(a, b, many.all(c, d, b + d >= 0))', { many })).toEqual({
      problem: 'the expression costs too much: it loops over too many values',
    });
  });

  it('keeps variables from what is not its body', () => {
    expect(holds('k.all(k, v, true)')).toEqual({ problem: 'unknown variable k' });
    expect(holds('m.all(k, v, w)')).toEqual({ problem: 'unknown variable w' });
    expect(holds('m.all(k, v, true) && v')).toEqual({ problem: 'unknown variable v' });
    expect(holds('m.all(k, 1, true)')).toMatchObject({ problem: expect.any(String) });
  });
});

describe('libraries', () => {
  it.each([
    // Sets
    ['sets.contains([1, 2, 3], [2, 2.0])', true],
    ['sets.contains([1], [1, 2])', false],
    ['sets.contains([], [])', true],
    ['sets.equivalent([1, 1], [1.0, 1u])', true],
    ['sets.equivalent([1], [1, 2])', false],
    ['sets.equivalent([[1], [2]], [[2], [1]])', true],
    ['sets.intersects([1], [2, 1])', true],
    ['sets.intersects([1], [])', false],
    // Addresses
    ["isIP('127.0.0.1') && isIP('::1') && isIP('::1.2.3.4')", true],
    ["isIP('127.0.0.256') || isIP('127.0.0.01') || isIP(':::1') || isIP('1::2::3')", false],
    ["isIP('::ffff:1.2.3.4') || isIP('fe80::1%en0') || isIP('1.2.3') || isIP('1.2.3.4.')", false],
    ["isIP('1:2:3:4:5:6:7::') && !isIP('1:2:3:4:5:6:7:8::') && !isIP('1:2:3:4:5:6:7')", true],
    ["ip('2001:db8::0:1') == ip('2001:DB8::1') && ip('1.2.3.4') != ip('1.2.3.5')", true],
    ["ip.isCanonical('2001:db8::abcd') && !ip.isCanonical('2001:DB8::ABCD')", true],
    ["string(ip('2001:db8:0:0:1:0:0:1')) == '2001:db8::1:0:0:1'", true],
    ["ip('127.0.0.1').family() == 4 && ip('::1').family() == 6", true],
    ["ip('0.0.0.0').isUnspecified() && ip('::').isUnspecified() && !ip('::1').isUnspecified()", true],
    ["ip('127.9.0.1').isLoopback() && ip('::1').isLoopback() && !ip('1.0.0.1').isLoopback()", true],
    ["ip('224.0.0.1').isLinkLocalMulticast() && ip('ff02::1').isLinkLocalMulticast()", true],
    ["ip('169.254.1.1').isLinkLocalUnicast() && ip('fe80::1').isLinkLocalUnicast()", true],
    ["ip('192.168.0.1').isGlobalUnicast() && ip('2001:db8::1').isGlobalUnicast()", true],
    ["ip('255.255.255.255').isGlobalUnicast() || ip('ff02::1').isGlobalUnicast()", false],
    // Ranges
    ["isCIDR('192.168.0.0/24') && isCIDR('::/0') && !isCIDR('1.2.3.4') && !isCIDR('1.2.3.4/33')", true],
    ["cidr('192.168.0.0/24').containsIP('192.168.0.9')", true],
    ["cidr('192.168.0.0/24').containsIP(ip('192.168.1.9'))", false],
    ["cidr('192.168.0.0/16').containsCIDR('192.168.10.0/24')", true],
    ["cidr('192.168.10.0/24').containsCIDR(cidr('192.168.0.0/16'))", false],
    ["cidr('0.0.0.0/0').containsIP('::1')", false],
    ["cidr('192.168.1.9/24').masked() == cidr('192.168.1.0/24')", true],
    ["cidr('192.168.1.9/24').ip() == ip('192.168.1.9') && cidr('::1/64').prefixLength() == 64", true],
    ["string(cidr('2001:db8::/32')) == '2001:db8::/32'", true],
    // URLs
    ["isURL('https://example.com:80/a?b=c') && isURL('/a') && !isURL('../a') && !isURL('')", true],
    ["url('https://u@example.com:80/').getHost() == 'example.com:80'", true],
    ["url('https://[::1]:80/').getHostname() == '::1' && url('https://[::1]/').getPort() == ''", true],
    ["url('HTTPS://example.com/').getScheme() == 'https' && url('/a').getScheme() == ''", true],
    ["url('https://example.com:80/').getPort() == '80'", true],
    ["url('https://example.com/a b').getEscapedPath() == '/a%20b'", true],
    ["url('https://e.com/?k=a&k=b&c=d%20e').getQuery() == {'k': ['a', 'b'], 'c': ['d e']}", true],
    // Versions
    ["isSemver('1.0.0') && isSemver('1.0.0-a.1+b') && !isSemver('v1.0') && !isSemver('1.0.00')", true],
    ["isSemver('v1.0', true) && semver('v01.2', true) == semver('1.2.0')", true],
    ["semver('1.2.3').major() == 1 && semver('1.2.3').minor() == 2 && semver('1.2.3-a').patch() == 3", true],
    [
      "semver('1.2.3').isLessThan(semver('1.10.0')) && semver('1.0.0').isGreaterThan(semver('1.0.0-a'))",
      true,
    ],
    ["semver('1.2.3').compareTo(semver('1.2.3')) == 0", true],
    // Formats of the extension strings
    ["'%s has %d'.format(['a', 2]) == 'a has 2'", true],
  ])('%s is %s', (expression, value) => {
    expect(holds(expression)).toEqual({ value });
  });

  it.each([
    ["ip('a') == ip('b')", '"a" is not an IP address'],
    ["cidr('1.2.3.4/33').prefixLength() == 1", '"1.2.3.4/33" is not a CIDR range'],
    ["url('a').getHost() == ''", '"a" is not a URL'],
    ["semver('1').major() == 1", '"1" is not a semantic version'],
    ["ip('1.2.3.4').prefixLength() == 1", 'the value is not a CIDR range'],
    ["semver('1.0.0').isLessThan(quantity('1'))", 'the value is not a quantity'],
    ['{}.major() == 1', 'the value is not a semantic version'],
    ["string({'a': 'b'}) == ''", 'a map has no text'],
  ])('%s has the problem %s', (expression, problem) => {
    expect(holds(expression)).toMatchObject({ problem: expect.stringContaining(problem) });
  });

  it('apply to functionConfigs', () => {
    const rule = "self.all(name, one, cidr('10.0.0.0/8').containsIP(one))";
    const schema = {
      type: 'object',
      additionalProperties: { type: 'string' },
      'x-kubernetes-validations': [{ rule }],
    };
    expect(uncheckedRule({ rule })).toBeUndefined();
    expect(checkRules(schema, { a: '10.1.2.3' })).toEqual([]);
    expect(checkRules(schema, { a: '11.1.2.3' })).toMatchObject([
      { message: `does not satisfy the rule ${rule}` },
    ]);
  });

  it.each(['self.?a.orValue(1) == 1', 'self[?0].hasValue()', '[1, ?self.a] == []', "{?'a': self.a} == {}"])(
    'lack the optional values of %s, which lint says',
    (rule) => {
      expect(uncheckedRule({ rule })).toBe('optional values, such as `a.?b`, are not supported');
    },
  );

  it('lack names in backquotes', () => {
    expect(uncheckedRule({ rule: "self.`a-b` == 'c'" })).toBe('syntax error after character 4');
  });
});
