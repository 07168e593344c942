import { describe, expect, it } from 'vitest';
import { createCelEvaluator } from '../../../../src/validation/custom/cel/evaluator.ts';
import { withDefaults } from '../../../../src/validation/values/defaults.ts';
import type { Schema } from '../../../../src/validation/values/schema.ts';

const TEXT: Schema = { type: 'string' };
const INTEGER: Schema = { type: 'integer' };

const SCHEMA: Schema = {
  type: 'object',
  properties: {
    text: TEXT,
    number: INTEGER,
    fraction: { type: 'number' },
    flag: { type: 'boolean' },
    port: { 'x-kubernetes-int-or-string': true },
    absent: { type: 'object', properties: { inner: TEXT } },
    initial: { type: 'string', default: 'by default' },
    nothing: { type: 'string', nullable: true },
    time: { type: 'string', format: 'date-time' },
    span: { type: 'string', format: 'duration' },
    bytes: { type: 'string', format: 'byte' },
    numbers: { type: 'array', items: INTEGER },
    texts: { type: 'array', items: TEXT },
    labels: { type: 'object', additionalProperties: TEXT },
    namespace: TEXT,
    'a-b.c/d': TEXT,
    x__y: TEXT,
    items: { type: 'array', items: { type: 'object', properties: { name: TEXT, size: INTEGER } } },
    nullable: { type: 'object', additionalProperties: { type: 'string', nullable: true } },
    zones: { type: 'array', 'x-kubernetes-list-type': 'set', items: TEXT },
    free: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
  },
};

const OBJECT = {
  ...{ text: 'aé😀', number: 5, fraction: 2, flag: true, port: 80, nothing: null },
  ...{ time: '2024-01-31T10:20:30Z', span: '1h30m', bytes: 'YWJj', numbers: [3, 1, 2], texts: ['a', 'b', 'a'] },
  ...{ labels: { 'app.kubernetes.io/name': 'x', tier: 'web' }, namespace: 'here', 'a-b.c/d': 'odd', x__y: 'under' },
  ...{ items: [{ name: 'one', size: 1 }, { name: 'two' }], free: { any: 1 } },
  ...{ nullable: { none: null }, zones: ['a', 'b'] },
};

/** `kept`, or the message of the refusal, or why the rule was not evaluated. */
function judge(rule: string, more: { readonly optionalOldSelf?: boolean } = {}): string {
  const { compileRules, notEvaluated } = createCelEvaluator();
  const schema: Schema = { ...SCHEMA, 'x-kubernetes-validations': [{ rule, message: 'refused', ...more }] };
  const [problem] = compileRules(schema, 'Thing')(withDefaults(schema, OBJECT) ?? {});
  return problem?.message.replace('the object breaks a rule of its definition: ', '') ?? notEvaluated()[0] ?? 'kept';
}

describe('rules in CEL', () => {
  it.each([
    // Values by their schema.
    'self.number == 5 && type(self.number) == int && self.number > 4.5',
    'type(self.fraction) == double && self.fraction == 2.0',
    'type(self.port) == int ? self.port == 80 : self.port == "http"',
    'self.port != "http"',
    '!has(self.absent) && has(self.number)',
    'self.initial == "by default"',
    '!has(self.free.any)',
    'self.nothing == null',
    'self.time.getFullYear() == 2024 && self.time < timestamp("2024-02-01T00:00:00Z")',
    'self.time.getDayOfMonth() == 30 && self.time.getDate() == 31',
    'self.span == duration("90m") && self.span.getMinutes() == 90',
    'self.bytes == b"abc"',
    'self.__namespace__ == "here" && self.a__dash__b__dot__c__slash__d == "odd" && self.x__underscores__y == "under"',
    '"app.kubernetes.io/name" in self.labels && self.labels["tier"] == "web" && self.labels.tier == "web"',
    'size(self.text) == 3 && self.text.size() == 3',
    'self.namespace == "here" && has(self.namespace)',
    'self.span.getMilliseconds() == 5400000 && type(self.span) == google.protobuf.Duration',
    '"none" in self.nullable && self.nullable["none"] == null',
    '!optional.ofNonZeroValue(uint(0)).hasValue() && !optional.ofNonZeroValue(duration("0s")).hasValue()',
    '[3, 1, 2].sortBy(n, -n) == [3, 2, 1]',
    // Macros.
    'self.items.exists(i, has(i.size)) && !self.items.all(i, has(i.size))',
    'self.items.exists_one(i, i.name == "one") && self.items.filter(i, has(i.size)).size() == 1',
    'self.items.map(i, i.name) == ["one", "two"] && self.items.map(i, has(i.size), i.size) == [1]',
    'self.labels.all(k, self.labels[k] != "")',
    'self.items.exists(i, i.size == 1)',
    'has(self.items[0].size) && !has(self.items[1].size)',
    'cel.bind(n, self.number, n + n) == 10',
    'self.numbers.all(i, v, v == self.numbers[i]) && self.labels.exists(k, v, v == "web")',
    'self.labels.existsOne(k, v, v == "web") && self.labels.transformList(k, v, v).size() == 2',
    'self.labels.transformMap(k, v, v == "web", v + "!") == {"tier": "web!"}',
    'self.numbers.transformList(i, v, i > 0, v * 2) == [2, 4]',
    // Errors are no verdict where another operand decides.
    'true || self.absent.inner == "x"',
    '!(self.absent.inner == "x" && false)',
    // Optional values.
    '!self.?absent.hasValue() && self.?number.value() == 5',
    'self.?absent.?inner.orValue("none") == "none" && self.?absent.inner.orValue("none") == "none"',
    'self.labels[?"tier"].orValue("") == "web" && !self.labels[?"other"].hasValue()',
    'self.?items[0].?size.orValue(9) == 1 && self.items[?5].?size.orValue(9) == 9',
    'self.?absent.or(self.?number).value() == 5 && optional.of(1).hasValue() && !optional.none().hasValue()',
    'self.?number.optMap(n, n + 1).value() == 6 && !self.?absent.optMap(a, a.inner).hasValue()',
    'self.?absent.optFlatMap(a, a.?inner).orValue("x") == "x"',
    'self.numbers.first().value() == 3 && self.numbers.last().value() == 2',
    '"what?[0].?x" + r"\\.?y[?" != ""',
    // Texts.
    '"a,b,c".split(",") == ["a", "b", "c"] && "a,b,c".split(",", 2) == ["a", "b,c"]',
    '["a", "b"].join("-") == "a-b" && "a-b".replace("-", "_") == "a_b" && " x ".trim() == "x"',
    '"a-b-c".replace("-", "", 1) == "ab-c" && "abc".replace("b", "bb", -1) == "abbc" && "abc".replace("b", "x", 0) == "abc"',
    '"a😀".replace("", "-") == "-a-😀-" && "ab".replace("", "-", 2) == "-a-b" && "aaa".replace("aa", "b") == "ba"',
    '"a,b,c".split(",", 0) == [] && "a,b,c".split(",", 1) == ["a,b,c"] && "abc".split("", 2) == ["a", "bc"]',
    'strings.quote("a\\"b\\n\\\\") == "\\"a\\\\\\"b\\\\n\\\\\\\\\\"" && size("a😀") == 2 && "😀".size() == 1',
    '"hello".indexOf("l") == 2 && "hello".lastIndexOf("l") == 3 && "hello".substring(1, 3) == "el"',
    '"ABé".lowerAscii() == "abé" && "ab".upperAscii() == "AB" && "abc".charAt(1) == "b"',
    '"%s-%d".format(["a", 1]) == "a-1"',
    'self.text.startsWith("a") && self.text.contains("é") && string(self.number) == "5" && int("5") == 5',
    // Patterns of RE2.
    '"10ms".matches("^[0-9]+(ms|s)$") && !"x".matches("^[0-9]$") && "ABC".matches("(?i)abc")',
    '"abc 123".find("[0-9]+") == "123" && "abc".find("[0-9]+") == ""',
    '"1 a 2".findAll("[0-9]+") == ["1", "2"] && "1 a 2".findAll("[0-9]+", 1) == ["1"]',
    // Lists and sets.
    '![3, 1].isSorted() && [1, 3].isSorted() && self.numbers.sum() == 6 && [].sum() == 0',
    'self.numbers.min() == 1 && self.numbers.max() == 3 && ["b", "a"].min() == "a"',
    'self.texts.indexOf("a") == 0 && self.texts.lastIndexOf("a") == 2 && self.texts.indexOf("z") == -1',
    'sets.contains([1, 2, 3], [2]) && sets.equivalent([1, 1], [1]) && !sets.intersects([1], [2])',
    'self.texts.distinct() == ["a", "b"] && self.numbers.sort() == [1, 2, 3] && [1, 2].reverse() == [2, 1]',
    '[[1], [2]].flatten() == [1, 2] && [1, 2, 3].slice(1, 3) == [2, 3] && lists.range(2) == [0, 1]',
    // Quantities.
    'quantity("1Gi") == quantity("1024Mi") && isQuantity("500m") && !isQuantity("5 m")',
    'quantity("500m").isLessThan(quantity("1")) && quantity("2k").asInteger() == 2000 && !quantity("1m").isInteger()',
    'quantity("1").add(quantity("500m")).compareTo(quantity("1500m")) == 0 && quantity("3").sub(1) == quantity("2")',
    'quantity("-1").sign() == -1 && quantity("1500m").asApproximateFloat() == 1.5',
    // Addresses.
    'isIP("10.0.0.1") && !isIP("10.0.0.01") && !isIP("::ffff:1.2.3.4") && !isIP("1.2.3.4::") && ip("10.0.0.1").family() == 4',
    'ip("2001:db8::0:1") == ip("2001:DB8::1") && !ip.isCanonical("2001:DB8::1") && string(ip("::1")) == "::1"',
    'ip("127.0.0.1").isLoopback() && ip("fe80::1").isLinkLocalUnicast() && ip("8.8.8.8").isGlobalUnicast()',
    'cidr("10.0.0.0/8").containsIP("10.1.2.3") && !cidr("10.0.0.0/8").containsIP(ip("11.0.0.1"))',
    'cidr("10.0.0.0/8").containsCIDR("10.1.0.0/16") && cidr("10.1.2.3/8").masked() == cidr("10.0.0.0/8")',
    'isCIDR("::/0") && !isCIDR("10.0.0.0/33") && cidr("10.0.0.0/8").prefixLength() == 8',
    // URLs.
    'isURL("https://example.com:8080/a?b=c") && !isURL("example.com") && isURL("/path") && !isURL("../x")',
    'url("https://example.com:8080/a%20b?q=1&q=2").getHost() == "example.com:8080"',
    'url("https://[::1]:80/").getHostname() == "::1" && url("https://e.com:80/").getPort() == "80"',
    'url("https://e.com/a%20b?q=1&q=2").getEscapedPath() == "/a%20b" && url("HTTP://e").getScheme() == "http"',
    'url("https://e.com/?q=1&q=2").getQuery()["q"] == ["1", "2"]',
    // Versions and forms.
    'semver("1.2.3").isLessThan(semver("1.10.0")) && semver("1.0.0-alpha").isLessThan(semver("1.0.0"))',
    'isSemver("1.2.3") && !isSemver("v1.2") && isSemver("v1.2", true) && semver("1.2.3").minor() == 2',
    '!format.dns1123Label().validate("good-name").hasValue() && format.dns1123Label().validate("Bad").hasValue()',
    'format.named("uuid").value().validate("x").value().size() == 1 && !format.named("other").hasValue()',
  ])('%s', (rule) => {
    expect(judge(rule)).toBe('kept');
  });

  it.each([
    ['a rule that is false', 'self.number == 6', 'refused'],
    ['a field that is missing', 'self.absent.inner == "x"', 'refused (field not found: absent)'],
    ['an index above the list', 'self.numbers[7] == 1', 'refused (index 7 out of bounds [0, -1))'],
    ['a division by zero', 'self.number / 0 == 1', 'refused (int divide by zero)'],
    ['a quantity that is none', 'quantity(self.text) == quantity("1")', 'refused ("aé😀" is no quantity)'],
  ])('refuses an object for %s', (_, rule, message) => {
    expect(judge(rule)).toBe(message);
  });

  it.each([
    ['an unknown function', 'self.number.unknown()', 'the function unknown is unknown'],
    ['an unknown variable', 'self.number == other', 'other is no variable'],
    ['the authorizer', 'authorizer.group("").check("get").allowed()', 'the function allowed is unknown'],
    ['a mistake in the syntax', 'self.number ==', 'it cannot be parsed'],
    ['a value of the wrong type', 'self.text.startsWith(1)', 'no matching overload'],
    ['a comparison of sets, which have no order', 'self.zones == ["b", "a"]', 'comparison of a set'],
    ['another value than true and false', 'self.number', 'its value is neither true nor false'],
    ['deep brackets', `${'('.repeat(200)}true${')'.repeat(200)}`, 'its brackets are nested deeper than 100'],
    ['a long expression', `true && ${' '.repeat(20_000)} true`, 'it has more than 20000 characters'],
  ])('says that it cannot evaluate a rule: %s', (_, rule, why) => {
    const found = judge(rule);
    expect(found).toContain('Thing: a rule of the object cannot be evaluated: ');
    expect(found).toContain(why);
  });

  it('does not evaluate rules about a change when an object is created', () => {
    expect(judge('self.number == oldSelf.number + 1')).toBe('kept');
    expect(judge('!oldSelf.hasValue() || self.number == oldSelf.value().number', { optionalOldSelf: true })).toBe(
      'kept',
    );
    expect(judge('oldSelf.hasValue()', { optionalOldSelf: true })).toBe('refused');
    expect(judge('oldSelf.?number.orValue(5) == self.number', { optionalOldSelf: true })).toBe('kept');
  });

  it('reports the place that the rule names, and the message that it computes', () => {
    const item: Schema = {
      type: 'object',
      properties: { name: TEXT, 'a.b': TEXT },
      'x-kubernetes-validations': [
        { rule: 'self.name != "one"', messageExpression: '"not " + self.name', fieldPath: ".name['a.b']" },
        { rule: 'self.name != "one"', messageExpression: 'self.missing' },
      ],
    };
    const schema: Schema = { type: 'object', properties: { items: { type: 'array', items: item } } };
    const problems = createCelEvaluator().compileRules(schema, 'Thing')({ items: [{ name: 'two' }, { name: 'one' }] });
    expect(problems.map(({ path, message, reason }) => ({ path, message, reason }))).toEqual([
      {
        path: ['items', 1, 'name', 'a.b'],
        message: 'items[1].name["a.b"] breaks a rule of its definition: not one',
        reason: 'BrokenRule',
      },
      {
        path: ['items', 1],
        message: 'items[1] breaks a rule of its definition: the rule `self.name != "one"` is false',
        reason: 'BrokenRule',
      },
    ]);
  });
});
