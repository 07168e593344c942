import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  displayObjectName,
  type ExplainQuery,
  isNameOf,
  namedAmong,
  parseExplainQuery,
  parseObjectName,
} from '../../../../src/model/fleet/explain-query.ts';
import { isKindWord } from '../../../../src/model/objects/kinds.ts';
import { displayKey, type ObjectKey, objectKey, objectRefOf } from '../../../../src/model/objects/object-key.ts';
import { displayPath, parseFieldPath } from '../../../../src/model/text/field-path.ts';
import { must } from '../../../../src/model/values/result.ts';

const label = fc.stringMatching(/^[a-z]([a-z0-9-]{0,8}[a-z0-9])?$/);
const name = fc.oneof(label, fc.stringMatching(/^[A-Za-z0-9:_@~-]{1,20}$/));
const kindWord = fc.stringMatching(/^[A-Za-z][A-Za-z0-9]{0,10}(\.[a-z]{1,5}){0,3}$/);
const part = fc.oneof(fc.constantFrom('Ready', 'spec.replicas', 'metadata.labels["a/b"]'), fc.string({ minLength: 1 }));

const wordsOf = ({ cluster, object, part: asked }: ExplainQuery): readonly string[] => [
  ...(cluster === undefined ? [] : [cluster]),
  displayObjectName(object),
  ...(asked === undefined ? [] : [asked]),
];

describe('the grammar of a question', () => {
  it('reads what it writes, with and without cluster, namespace and part', () => {
    const query = fc.record(
      {
        cluster: label,
        object: fc.record({ kind: kindWord, namespace: label, name }, { requiredKeys: ['kind', 'name'] }),
        part,
      },
      { requiredKeys: ['object'] },
    );
    fc.assert(
      fc.property(query, (asked) => {
        expect(parseExplainQuery(wordsOf(asked))).toEqual({ ok: true, value: asked });
      }),
    );
  });

  it('reads no other count of words, and nothing that is no object', () => {
    for (const words of [[], ['east'], ['cm/a', 'x', 'y'], ['east', 'cm/a', 'x', 'y'], ['east', 'west', 'cm/a']]) {
      expect(parseExplainQuery(words).ok).toBe(false);
    }
    for (const text of ['a', '/a', 'cm/', 'cm//a', 'cm/a/', 'a/b/c/d', 'cm/A/b', 'c m/a', 'cm/.', 'cm./a', '.apps/a']) {
      expect([text, parseObjectName(text).ok]).toEqual([text, false]);
    }
  });

  it('reads every field as it is displayed', () => {
    const step = fc.oneof(fc.string(), fc.nat(999_999_999), fc.stringMatching(/^[A-Za-z_$][\w$-]*$/));
    const path = fc.array(step, { minLength: 1 });
    fc.assert(
      fc.property(path, (steps) => {
        expect(parseFieldPath(displayPath(steps))).toEqual({ ok: true, value: steps });
      }),
    );
  });

  it('reads a field with the dot that JSONPath begins with', () => {
    expect(parseFieldPath('.spec.paths[0]')).toEqual({ ok: true, value: ['spec', 'paths', 0] });
  });

  it.each(['', '.', 'a.', 'a..b', 'a.[0]', 'a[', 'a[x]', 'a[-1]', 'a["b]', 'a["\\x"]', 'a b', 'a[0]b'])(
    'reads %j as no field',
    (text) => expect(parseFieldPath(text).ok).toBe(false),
  );
});

describe('the word for a kind', () => {
  it.each([
    ['deploy', 'apps', 'Deployment'],
    ['Deployments', 'apps', 'Deployment'],
    ['deploy.apps', 'apps', 'Deployment'],
    ['DEPLOYMENT.apps', 'apps', 'Deployment'],
    ['svc', '', 'Service'],
    ['netpol', 'networking.k8s.io', 'NetworkPolicy'],
    ['networkpolicies', 'networking.k8s.io', 'NetworkPolicy'],
    ['ingresses', 'networking.k8s.io', 'Ingress'],
    ['endpoints', '', 'Endpoints'],
    ['gateways', 'gateway.networking.k8s.io', 'Gateway'],
    ['widgets', 'example.com', 'Widget'],
    ['plc', 'fleetrelay.dev', 'Placement'],
    ['fleetpolicies', 'fleetrelay.dev', 'FleetPolicy'],
  ])('%s is %s/%s', (word, group, kind) => expect(isKindWord(word, { group, kind })).toBe(true));

  it.each([
    ['deploy', 'example.com', 'Deployment'],
    ['deploy.batch', 'apps', 'Deployment'],
    ['deploy', 'apps', 'DaemonSet'],
    ['Service.', '', 'Pod'],
  ])('%s is not %s/%s', (word, group, kind) => expect(isKindWord(word, { group, kind })).toBe(false));
});

describe('the name of an object', () => {
  const core = objectKey({ group: '', kind: 'Service', namespace: 'web', name: 'a' });
  const serving = objectKey({ group: 'serving.knative.dev', kind: 'Service', namespace: 'web', name: 'a' });
  const elsewhere = objectKey({ group: '', kind: 'Service', namespace: 'shop', name: 'a' });
  const named = (text: string): readonly ObjectKey[] => {
    const wanted = must(parseObjectName(text));
    const candidates = [core, serving, elsewhere].filter((key) => isNameOf(wanted, objectRefOf(key)));
    return namedAmong(candidates, displayKey, wanted);
  };

  it('stands for all that it can, if the group or the namespace is left out', () => {
    expect(named('service/a')).toEqual([core, serving, elsewhere]);
    expect(named('svc/a')).toEqual([core, elsewhere]);
    expect(named('services/web/a')).toEqual([core, serving]);
  });

  it('stands for one object if it is written as that is displayed', () => {
    for (const key of [core, serving, elsewhere]) expect(named(displayKey(key))).toEqual([key]);
  });
});

it.each<readonly [readonly string[], { readonly cluster?: string; readonly object: object; readonly part?: string }]>([
  [['shoot', 'garden-web/blue'], { object: { kind: 'shoot', namespace: 'garden-web', name: 'blue' } }],
  [
    ['Shoots', 'web/blue', 'EveryNodeReady'],
    { object: { kind: 'Shoots', namespace: 'web', name: 'blue' }, part: 'EveryNodeReady' },
  ],
  [['shoot', 'blue'], { object: { kind: 'shoot', name: 'blue' } }],
  [['garden', 'shoot/web/blue'], { cluster: 'garden', object: { kind: 'shoot', namespace: 'web', name: 'blue' } }],
  [['shoot', 'cm/web/a'], { cluster: 'shoot', object: { kind: 'cm', namespace: 'web', name: 'a' } }],
])('%j: a Shoot in two words', (words, query) => {
  expect(parseExplainQuery(words)).toEqual({ ok: true, value: query });
});
