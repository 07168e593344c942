import { expect, it } from 'vitest';
import { rule } from '../../../../../src/validation/rules/shared/field.ts';
import { checkLabelSelector, selectorMatches } from '../../../../../src/validation/rules/shared/selectors.ts';

it('reports problems with paths and plain sentences', () => {
  const check = rule((root) => {
    const spec = root.get('spec');
    spec.get('replicas').inRange(0);
    spec.get('template').required();
    for (const item of spec.get('list').items()) item.get('name').duplicate();
    for (const member of spec.get('words').members()) member.notSupported(['Always', 'Never']);
    spec.get('other').forbidden('with replicas');
  });
  const problems = check({
    kind: 'Thing',
    spec: { replicas: -1, list: [{ name: 'a' }], words: { 'x/y': 'always' }, other: null },
  });
  expect(problems).toEqual([
    {
      severity: 'error',
      reason: 'WrongValue',
      path: ['spec', 'replicas'],
      message: 'spec.replicas is -1 but must be at least 0',
    },
    {
      severity: 'error',
      reason: 'MissingField',
      path: ['spec', 'template'],
      missing: ['spec', 'template'],
      message: 'spec.template is missing',
    },
    {
      severity: 'error',
      reason: 'DuplicateName',
      path: ['spec', 'list', 0, 'name'],
      message: 'spec.list[0].name is "a" but must not be the same as in an entry above',
    },
    {
      severity: 'error',
      reason: 'WrongValue',
      path: ['spec', 'words', 'x/y'],
      message: 'spec.words["x/y"] is "always" but must be one of Always, Never',
      hint: 'did you mean Always?',
    },
    {
      severity: 'error',
      reason: 'FieldNotAllowed',
      path: ['spec', 'other'],
      message: 'spec.other is not allowed with replicas',
      atKey: true,
    },
  ]);
});

it('never quotes a value of a Secret', () => {
  const check = rule((root) => root.getIn('stringData', 'password').invalid('must be longer'));
  const [problem] = check({ kind: 'Secret', stringData: { password: 'hunter2' } });
  expect(problem?.message).toBe('stringData.password must be longer');
});

it('tolerates every wrong type', () => {
  const check = rule((root) => {
    const field = root.getIn('a', 'b', 'c');
    field.inRange(0);
    checkLabelSelector(field);
    selectorMatches(field, field);
    expect([field.items(), field.members()]).toEqual([[], []]);
  });
  for (const a of [null, 1, 'x', [], [1], { b: null }, { b: [] }, { b: 'x' }]) expect(check({ a })).toEqual([]);
});

it('checks label selectors, and whether they match', () => {
  const check = rule((root) => checkLabelSelector(root.get('selector')));
  const reasons = check({
    selector: {
      matchLabels: { 'a b': 'x', good: 'not good' },
      matchExpressions: [
        { key: 'a', operator: 'in', values: ['x'] },
        { key: 'a', operator: 'In' },
        { key: 'a', operator: 'Exists', values: ['x'] },
        { key: '-', operator: 'NotIn', values: ['x y'] },
      ],
    },
  }).map(({ reason, path }) => `${reason} ${path.slice(1).join('.')}`);
  expect(reasons).toEqual([
    'BadLabel matchLabels.a b',
    'BadLabel matchLabels.good',
    'WrongValue matchExpressions.0.operator',
    'MissingField matchExpressions.1.values',
    'FieldNotAllowed matchExpressions.2.values',
    'BadLabel matchExpressions.3.key',
    'BadLabel matchExpressions.3.values.0',
  ]);
  const matches = (selector: object, labels: object) => {
    let found: boolean | undefined;
    rule((root) => {
      found = selectorMatches(root.get('selector'), root.get('labels'));
    })(JSON.parse(JSON.stringify({ selector, labels })));
    return found;
  };
  expect(matches({ matchLabels: { a: 'b' } }, { a: 'b', c: 'd' })).toBe(true);
  expect(matches({ matchLabels: { a: 'b' } }, { a: 'c' })).toBe(false);
  expect(matches({ matchExpressions: [{ key: 'a', operator: 'NotIn', values: ['b'] }] }, {})).toBe(true);
  expect(matches({ matchExpressions: [{ key: 'a', operator: 'Wrong' }] }, {})).toBe(true);
});
