import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../../src/model/text/json.ts';
import { createCelEvaluator } from '../../../../src/validation/custom/cel/evaluator.ts';

const { checkExpressions } = createCelEvaluator();

function messagesOf(object: JsonObject): readonly string[] {
  return checkExpressions(object).map(({ message, hint }) => (hint === undefined ? message : `${message} (${hint})`));
}

const policy = (expression: string, more: JsonObject = {}): JsonObject => ({
  ...{ apiVersion: 'admissionregistration.k8s.io/v1', kind: 'ValidatingAdmissionPolicy', metadata: { name: 'a' } },
  spec: { validations: [{ expression }], ...more },
});

const device = (expression: string): JsonObject => ({
  ...{ apiVersion: 'resource.k8s.io/v1', kind: 'DeviceClass', metadata: { name: 'a' } },
  spec: { selectors: [{ cel: { expression } }] },
});

const TEXT = { type: 'string' };

const definition = (rule: string): JsonObject => ({
  ...{ apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition', metadata: { name: 'a' } },
  spec: {
    versions: [
      {
        schema: {
          openAPIV3Schema: {
            type: 'object',
            'x-kubernetes-validations': [{ rule }],
            properties: {
              'a-b': TEXT,
              namespace: TEXT,
              list: { type: 'array', items: { type: 'object', properties: { name: TEXT } } },
              map: { type: 'object', additionalProperties: { type: 'object', properties: { name: TEXT } } },
              free: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
              port: { 'x-kubernetes-int-or-string': true },
              pod: { type: 'object', 'x-kubernetes-embedded-resource': true },
            },
          },
        },
      },
    ],
  },
});

const AT = 'spec.validations[0].expression';
const RULE = 'spec.versions[0].schema.openAPIV3Schema.x-kubernetes-validations[0].rule';

// Each of the expressions here was given to an API server 1.36.
describe('expressions that an API server compiles', () => {
  it.each([
    'authorizer.group("a").resource("b").fieldSelector("x").check("get").allowed()',
    'object.?a[?0].orValue("") == "" && {?"a": object.?a}.size() == 1',
    '[1].transformMapEntry(i, v, {i: v}) == {} && [2, 1].sortBy(x, x) == [1, 2]',
    'strings.quote("`") == lists.range(3).map(i, string(i)).join() // `a`',
    'type(ip("1.1.1.1")) == net.IP && type(optional.none()) == optional_type',
    'object.a.matches("(?<n>a)(?<n>b)") && object.a.matches("[[:word:]]{,2}")',
  ])('are no fault: %s', (expression) => expect(messagesOf(policy(expression))).toEqual([]));

  it.each([
    ['device.attributes["x.y"].foo.includes("a")'],
    ['cel.bind(dra, device.attributes["x.y"], dra.foo)'],
    ['device.capacity["a.b"].x.compareTo(quantity("1")) > 0'],
  ])('are no fault of a selector: %s', (expression) => expect(messagesOf(device(expression))).toEqual([]));

  it.each([
    'self.a__dash__b == "" && self.namespace == "" && self.__namespace__ == ""',
    'self.metadata.name == "" && self.kind == "" && self.pod.metadata.generateName == ""',
    'self.list.all(self, self.name == "") && self.list.all(i, e, e.name == "") && self.map.x.name == ""',
    'self.port.foo == 1 && dyn(self).foo == 1 && oldSelf.list[0].name == ""',
  ])('are no fault of a definition: %s', (rule) => expect(messagesOf(definition(rule))).toEqual([]));
});

describe('expressions that an API server refuses', () => {
  it.each([
    ['object.a.fooBar()', 'calls fooBar, a function that API servers do not have here'],
    ['foo(1) == 1', 'calls foo, a function that API servers do not have here'],
    [
      'cel.bind(a, 1, a == 1)',
      'calls cel.bind, a function that API servers do not have here (only selectors of devices have it)',
    ],
    ['object.format.named("x")', 'calls named, a function that API servers do not have here (did you mean name?)'],
    [
      'object.a.startWith("x")',
      'calls startWith, a function that API servers do not have here (did you mean startsWith?)',
    ],
    ['object.a.matches("[")', 'matches the pattern "[", which is no regular expression of RE2'],
    [
      'self.allowed() && authorizer.path("/").check("get").allowed()',
      'names a variable that is not declared: self is no variable',
    ],
  ])('%s', (expression, fault) => {
    expect(messagesOf(policy(expression)).map((message) => message.split(' (declared')[0])).toEqual([`${AT} ${fault}`]);
  });

  it('names of variables that are no text are one fault, which the schema reports', () => {
    const variables = [{ name: true, expression: '1' }];
    expect(messagesOf(policy('variables.y == 1', { variables }))).toEqual([]);
  });

  it.each([
    ['self.foo == ""', 'foo'],
    ['has(self.foo)', 'foo'],
    ['self.?foo.hasValue()', 'foo'],
    ['self.metadata.labels == {}', 'labels'],
    ['self.list[0].size == ""', 'size'],
    ['self.map["a"].size == ""', 'size'],
    ['self.free.foo == ""', 'foo'],
    ['self.pod.spec == 1', 'spec'],
    ['oldSelf.status.foo == ""', 'status'],
  ])('of a definition: %s', (rule, field) => {
    expect(messagesOf(definition(rule))).toEqual([
      `${RULE} reads the field ${field}, which the schema does not have there`,
    ]);
  });
});

it('what of them is not checked is told once for each kind', () => {
  const evaluator = createCelEvaluator();
  for (const object of [policy('true'), policy('false'), device('true'), definition('true')]) {
    evaluator.checkExpressions(object);
  }
  expect(evaluator.notEvaluated()).toEqual([
    'ValidatingAdmissionPolicy: expressions in CEL are not evaluated, and their types are not checked',
    'DeviceClass: expressions in CEL are not evaluated, and their types and their estimated cost are not checked',
    'CustomResourceDefinition: the types and the estimated cost of rules in CEL are not checked',
  ]);
});
