import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type FieldProblem, fieldError, typeFix, withFix } from '../../../src/manifest/problem.ts';
import type { Diagnostic } from '../../../src/model/fleet/diagnostic.ts';
import type { JsonObject } from '../../../src/model/text/json.ts';
import { createObjectCheck } from '../../../src/validation/check-object.ts';
import { applyFixes, type FixedText } from '../../../src/validation/fixes.ts';
import { newestKubernetesVersion, openKubernetesSchemas } from '../../../src/validation/kubernetes-schemas.ts';
import { decodeFile } from '../../support/decode-file.ts';
import { bytesOf } from '../../support/decoding.ts';

/** A check in which `spec.text` and the items of `spec.texts` are text, and `spec.flag` is a boolean. */
function check({ spec }: JsonObject): readonly FieldProblem[] {
  const { text, texts, flag } = (spec ?? {}) as JsonObject;
  const strings = [['text', text] as const, ...(Array.isArray(texts) ? texts : []).entries()].map(([step, value]) => ({
    path: ['spec', ...(typeof step === 'number' ? ['texts'] : []), step],
    value,
    wanted: 'string' as const,
  }));
  return [...strings, { path: ['spec', 'flag'], value: flag, wanted: 'boolean' as const }]
    .filter(({ value, wanted }) => value !== undefined && value !== null && typeof value !== wanted)
    .map(({ path, value, wanted }) => withFix(fieldError('WrongType', path, 'wrong type'), typeFix(value, wanted)));
}

function decode(text: string, path = 'a.yaml') {
  return decodeFile(path, bytesOf(text), '', { check, fixes: true }).diagnostics;
}

function fixed(text: string, path?: string): string {
  return applyFixes(text, decode(text, path)).text;
}

const HEAD = 'apiVersion: example.com/v1\nkind: A\nmetadata: {name: a}\nspec:\n';

/** Applies fixes until none is left. */
function mendText(text: string, find: (text: string) => readonly Diagnostic[]): FixedText {
  const { text: after, mended } = applyFixes(text, find(text));
  if (mended.length === 0) return { text, mended };
  const rest = mendText(after, find);
  return { text: rest.text, mended: [...mended, ...rest.mended] };
}

describe('fixes with the schemas of Kubernetes', async () => {
  const kubernetes = await openKubernetesSchemas(newestKubernetesVersion);
  const objectCheck = createObjectCheck({ kubernetes });
  const find = (text: string) =>
    decodeFile('a.yaml', bytesOf(text), '', { check: objectCheck, fixes: true }).diagnostics;
  const mended = (text: string) => mendText(text, find).text;

  it('mends keys, kinds, enums, booleans and texts', () => {
    const service = 'apiVersion: v1\nkind: %\nmetadata: {name: a}\nspec: {ports: [{port: 1}]}\n---\n';
    const text = `${service.replace('%', 'service')}apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {on: yes}} # labels
spec:
  selector: {matchlabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      HostNetwork: no
      containers:
      - name: web
        image: web:1
        ImagePullPolicy: always
        env: [{name: PORT, value: 8080}, {name: DEBUG, value: off}]
        ports:
        - {ContainerPort: "80", protocol: tcp}
`;
    const after = mended(text);
    expect(after).toBe(`${service.replace('%', 'Service')}apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {"on": "yes"}} # labels
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      hostNetwork: no
      containers:
      - name: web
        image: web:1
        imagePullPolicy: Always
        env: [{name: PORT, value: "8080"}, {name: DEBUG, value: "off"}]
        ports:
        - {containerPort: 80, protocol: TCP}
`);
    expect(find(after)).toEqual([]);
    expect(mendText(after, find)).toEqual({ text: after, mended: [] });
  });

  it('writes another API version only where nothing else changes', () => {
    const role = 'apiVersion: rbac.authorization.k8s.io/v1beta1\nkind: Role\nmetadata: {name: a}\nrules: []\n';
    expect(mended(role)).toBe(role.replace('v1beta1', 'v1'));
    const budget = 'apiVersion: policy/v1beta1\nkind: PodDisruptionBudget\nmetadata: {name: a}\n';
    const spec = (selector: string) => `${budget}spec: {minAvailable: 1, selector: ${selector}}\n`;
    expect(mended(spec('{}'))).toBe(spec('{}'));
    expect(mended(spec('{matchLabels: {a: b}}'))).toBe(spec('{matchLabels: {a: b}}').replace('v1beta1', 'v1'));
    const ingress = 'apiVersion: networking.k8s.io/v1beta1\nkind: Ingress\nmetadata: {name: a}\nspec: {}\n';
    expect(mended(ingress)).toBe(ingress);
  });

  it('leaves a text alone if the result would have more findings', () => {
    const text = 'apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nSpec: {a: 1, b: 2, c: 3}\n';
    expect(mended(text)).toBe(text);
  });

  it('mends a kind and an API version in a wrong case beside other faults', () => {
    const rest = 'metadata: {name: a}\nspec: {a: 1, b: 2, c: 3}\n';
    expect(mended(`apiVersion: v1\nkind: pod\n${rest}`)).toBe(`apiVersion: v1\nkind: Pod\n${rest}`);
    expect(mended(`apiVersion: V1\nkind: pod\n${rest}`)).toBe(`apiVersion: v1\nkind: Pod\n${rest}`);
  });
});

describe('applyFixes', () => {
  it('quotes what is no text where text is wanted, and leaves what kubectl reads as the boolean that is wanted', () => {
    const text = `${HEAD}  # kept: yes
  text: yes   # yes
  texts: [ on, 22:22,0b11 , 010, 1_000, true, 'no', 1.10]
  flag: No
  other: yes
  deeper: { text: yes }
`;
    expect(fixed(text)).toBe(`${HEAD}  # kept: yes
  text: "yes"   # yes
  texts: [ "on", 22:22,"0b11" , "010", "1_000", "true", 'no', "1.10"]
  flag: No
  other: yes
  deeper: { text: yes }
`);
    expect(fixed(`${HEAD}  flag: "yes"\n`)).toBe(`${HEAD}  flag: true\n`);
  });

  it('quotes keys that kubectl reads as another text', () => {
    expect(fixed(`${HEAD}  on: 1\n  010: 2\n`)).toBe(`${HEAD}  "on": 1\n  "010": 2\n`);
  });

  it('keeps line ends, a byte order mark, tabs and everything that it does not mend', () => {
    const text = `\ufeff${HEAD}  text: on\t# tab\n  flag: on \n`.replaceAll('\n', '\r\n');
    expect(fixed(text)).toBe(text.replace('text: on', 'text: "on"'));
    const json =
      '{\r\n\t"apiVersion": "example.com/v1", "kind": "A",\r\n\t"metadata": {"name": "a"},\r\n\t"spec": {"text": 1}}';
    expect(fixed(json, 'a.json')).toBe(json.replace('"text": 1', '"text": "1"'));
    expect(fixed(`${json}\n${json}`, 'a.json')).toBe(`${json}\n${json}`.replaceAll('"text": 1', '"text": "1"'));
  });

  it('mends items of lists and of typed lists', () => {
    const item = '- metadata: {name: a}\n  spec: {text: no}\n';
    const text = `apiVersion: example.com/v1\nkind: AList\nitems:\n${item}${item.replace('a}', 'b}')}`;
    expect(fixed(text)).toBe(text.replaceAll('no}', '"no"}'));
  });

  it('leaves values with tags or anchors, aliases and text of several lines', () => {
    const text = `${HEAD}  text: &a 12\n  texts:\n  - *a\n  - |\n    yes\n  flag: !!str yes\n`;
    expect(fixed(text)).toBe(text);
  });

  it('mends the case of keys and words, unless the right key is there as well', () => {
    const policy = 'apiVersion: fleetrelay.dev/v1alpha1\nkind: FleetPolicy\nmetadata: {name: p}\nspec:\n';
    expect(fixed(`${policy}  SafeMode: {Mode: 'STRICT'}\n`)).toBe(`${policy}  safeMode: {Mode: 'STRICT'}\n`);
    expect(fixed(`${policy}  safeMode: {Mode: 'STRICT'}\n`)).toBe(`${policy}  safeMode: {mode: 'STRICT'}\n`);
    expect(fixed(`${policy}  safeMode: {mode: 'STRICT'}\n`)).toBe(`${policy}  safeMode: {mode: 'strict'}\n`);
    const both = `${policy}  safeMode: {mode: strict}\n  SafeMode: {mode: off}\n`;
    expect(
      applyFixes(
        both,
        decode(both).filter(({ reason }) => reason === 'UnknownField'),
      ).text,
    ).toBe(both);
  });

  it('tells which findings it has mended', () => {
    const text = `${HEAD}  text: on\n  flag: 3\n`;
    const found = decode(text);
    expect(found.map(({ reason }) => reason)).toEqual(['WrongType', 'WrongType']);
    expect(applyFixes(text, found).mended).toEqual(found.slice(0, 1));
  });

  it('never shows a value of a Secret', () => {
    const text = 'apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData:\n  pin: 4711\n';
    expect(JSON.stringify(decode(text))).not.toContain('4711');
    expect(fixed(text)).toBe(text.replace('4711', '"4711"'));
  });

  it('mends everything that it can at once, changes nothing the second time, and adds no finding', () => {
    const scalar = fc.constantFrom(
      ...['yes', 'No', 'on', 'y', '010', '0o17', '0b1', '1_000', '22:22', '1.0', 'true', 'null', '~', ''],
      ...['"yes"', "'no'", '"true"', 'text', '"a\\tb"', '0x1F', '-1', '&x yes', '!!str no', '|\n   on', '*x'],
    );
    const field = fc.constantFrom('text', 'flag', 'other', 'on', 'Text', 'yes');
    const line = fc.tuple(field, scalar).map(([key, value]) => `  ${key}: ${value}`);
    const list = fc
      .array(scalar.filter((value) => !value.includes('\n')))
      .map((items) => `  texts: [${items.join(', ')}]`);
    const lines = fc.tuple(fc.array(line, { maxLength: 5 }), list).map(([some, last]) => [...some, last].join('\n'));
    fc.assert(
      fc.property(fc.array(lines, { maxLength: 3 }), fc.constantFrom('\n', '\r\n'), (documents, end) => {
        const text = documents
          .map((spec) => `${HEAD}${spec}\n`)
          .join('---\n')
          .replaceAll('\n', end);
        const { text: after, mended } = mendText(text, decode);
        expect(decode(after).length).toBeLessThanOrEqual(decode(text).length - mended.length);
        expect(mendText(after, decode)).toEqual({ text: after, mended: [] });
      }),
      { numRuns: 1_000 },
    );
  });
});
