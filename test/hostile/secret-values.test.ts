import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readLiveFile } from '../../src/adapters/directory/object-file.ts';
import { failureOf } from '../../src/adapters/kubernetes/cluster/refusals.ts';
import { compositionRoots } from '../../src/cli/roots.ts';
import { openDecoder } from '../../src/compose/decoding/decode-with-warnings.ts';
import type { CapturedEntry } from '../../src/engine/recording.ts';
import { mayHoldSecret } from '../../src/manifest/secret-text.ts';
import { engineKindIds } from '../../src/model/fleet/engine-kinds.ts';
import type { RecordedEntry } from '../../src/model/fleet/recording.ts';
import { objectKey } from '../../src/model/objects/object-key.ts';
import { namesSecret } from '../../src/model/objects/secret-values.ts';
import { objectDigest } from '../../src/model/text/digest.ts';
import { fieldDiff } from '../../src/model/text/field-diff.ts';
import type { JsonObject, JsonValue } from '../../src/model/text/json.ts';
import { createMask } from '../../src/runtime/recording/mask.ts';
import { newestKubernetesVersion, openKubernetesSchemas } from '../../src/validation/kubernetes-schemas.ts';
import { runCli } from '../support/cli.ts';
import { bytesOf } from '../support/decoding.ts';

/** A value as it is written, and what no message may tell: pieces of the text, and what a reader of YAML makes of it. */
interface Form {
  readonly written: string;
  readonly hidden: readonly (string | RegExp)[];
}

/** Words that tell the type of a value. */
const TYPES = [/\ba number\b/, /whole number/, /\bfraction\b/, /true or false/, /\bboolean\b/, /\binfin/];

const scalar = (written: string, ...readings: readonly (string | RegExp)[]): Form => ({
  written,
  hidden: [written, ...readings, ...TYPES],
});

/** The library for YAML, kubectl and the schemas refuse these, or read them as something else than text. */
const SCALARS: readonly Form[] = [
  scalar('0765432101', (0o765432101).toString()),
  scalar('0o765432107', (0o765432107).toString()),
  scalar('0x1deadbee', (0x1deadbee).toString()),
  scalar('0b1110111001101', '7629'),
  scalar('7_654_321', '7654321'),
  scalar('+7654322', '7654322'),
  scalar('-7654323'),
  scalar('7654324'),
  scalar('1.7320508e5', '173205'),
  scalar('1_7.3205', '17.3205'),
  scalar('.73205'),
  scalar('98765432109876543210', '9876543210', /too large/),
  scalar('-0x1deadbeefdeadbeef', /too large/),
  scalar('.inf', /JSON cannot hold/),
  scalar('-.INF', /JSON cannot hold/),
  scalar('.NaN', /JSON cannot hold/),
  scalar('09876501'),
  scalar('18:30:21', '66621'),
  scalar('2031-07-19', '2031'),
  scalar('2031-07-19T18:31:22Z', '2031'),
  { written: 'yes', hidden: [/\byes\b/, /\btrue\b/, ...TYPES] },
  { written: 'Off', hidden: [/\bOff\b/, /\bfalse\b/, ...TYPES] },
  { written: 'TRUE', hidden: [/\btrue\b/i, ...TYPES] },
  { written: 'n', hidden: [/"n"/, /\bfalse\b/, ...TYPES] },
];

const M = 'hunter2';

/** Texts that are no values of YAML, or other values than the author meant. */
const TEXTS: readonly Form[] = [
  ...['*hunter2', '&hunter2 x1y', '!hunter2', '!hunter2 x1y', '!!hunter2 x1y', '!<hunter2> x1y', '!hunter2! x1y'],
  ...['!!int hunter2', '!!float hunter2', '!!bool hunter2', '!!binary hunter2', '!!timestamp hunter2', '!h%zz{hunter2'],
  ...['!!null hunter2', '!!set {hunter2}', '!!omap [hunter2: 1]'],
  ...['%hunter2', '@hunter2', '`hunter2', '"hunter2', "'hunter2", '"hunter2\\q"', '"hunter2\\/x"', '"hunter2\\ud800"'],
  ...['>hunter2', '|hunter2', '|9hunter2', '>- hunter2', '- hunter2', '? hunter2', '[hunter2', '{hunter2', ']hunter2'],
  ...['[hunter2]', '{hunter2: 1}', '{hunter2}', '{hunter2: x, hunter2: y}', '[hunter2, [1_0]]', '{0hunter2: 0x11}'],
  ...['{<<: {hunter2: x}, hunter2: y}', '{hunter2: x, <<: {hunter2: y}}', '{<<: hunter2}', '{<<: [hunter2]}'],
  ...['{? [hunter2] : x}', '{__proto__: hunter2}', '{{ hunter2 }}', '{{ .Values.hunter2 }}', '$(hunter2)', '<hunter2>'],
  ...[
    'hunter2: x',
    'hunter2 # "x',
    '0x_hunter2',
    'hunter2\thunter2: x',
    '\thunter2',
    'hunter2\u0085x',
    'hunter2\u2028x',
  ],
  ...[
    'hunter2\n---x hunter2',
    'hunter2\n... hunter2',
    'hunter2\n%hunter2',
    'hunter2\n%YAML hunter2\n---',
    '"hunter2\u0007"',
  ],
  ...[
    '|\n    # fleetrelay-ignore: hunter2',
    '|\n    # fleetrelay-ignore: hunter2 reason hunter2',
    '# fleetrelay-ignore: FR2004',
  ],
  ...[
    '|\n    # yaml-language-server: $schema=hunter2.json',
    '>\n\t hunter2',
    '|\n   hunter2\n  hunter2',
    '"hunter2\nhunter2"',
  ],
  ...[
    'ENC[AES256_GCM,data:hunter2]',
    'aHVudGVyMg',
    'aHVudGVyMg=',
    'aHVudGVyMg===',
    'aHVu dGVyMg==',
    'not base64 hunter2',
  ],
].map((written) => ({ written, hidden: [M, 'aHVud'] }));

/** An empty line more than the template has, so that no place of a finding is one of the values. */
const head = (kind: string, apiVersion = 'v1') => `apiVersion: ${apiVersion}\nkind: ${kind}\nmetadata: {name: a}\n`;
const APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';

const SHARED = 'shared with a ConfigMap';

/** The manifests that may be a Secret, with a value in them. */
const HOLDERS: Readonly<Record<string, (value: string) => string>> = {
  stringData: (value) => `${head('Secret')}stringData:\n  pin: ${value}\n`,
  data: (value) => `${head('Secret')}data:\n  pin: ${value}\n`,
  'the whole of data': (value) => `${head('Secret')}data: ${value}\n`,
  'a list in data': (value) => `${head('Secret')}data:\n  - ${value}\n`,
  'a list below a key': (value) => `${head('Secret')}stringData:\n  pin:\n  - ${value}\n`,
  'a mapping below a key': (value) => `${head('Secret')}stringData:\n  pin:\n   inner: ${value}\n`,
  'before its kind': (value) => `stringData:\n  pin: ${value}\n${head('Secret')}`,
  'a flow mapping': (value) => `${head('Secret')}stringData: {pin: ${value}, other: x}\n`,
  'a flow mapping as a whole': (value) =>
    `{apiVersion: v1, kind: Secret, metadata: {name: a}, stringData: {pin: ${value}}}\n`,
  'an item of a List': (value) =>
    `apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Secret\n  metadata: {name: a}\n  stringData:\n    pin: ${value}\n`,
  'an item of a SecretList': (value) =>
    `apiVersion: v1\nkind: SecretList\nitems:\n- metadata: {name: a}\n  stringData:\n    pin: ${value}\n`,
  'an item of a List without a kind': (value) =>
    `apiVersion: v1\nkind: List\nitems:\n- metadata: {name: a}\n  stringData:\n    pin: ${value}\n`,
  'the second document': (value) => `${head('ConfigMap')}---\n${head('Secret')}stringData:\n  pin: ${value}\n`,
  'the first document': (value) => `${head('Secret')}stringData:\n  pin: ${value}\n---\n${head('ConfigMap')}`,
  [SHARED]: (value) =>
    `${head('List')}items:\n- {apiVersion: v1, kind: Secret, metadata: {name: a}, stringData: &pin {pin: ${value}}}\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: b}, data: *pin}\n`,
  'a kind in lower case': (value) => `${head('secret')}stringData:\n  pin: ${value}\n`,
  'a kind in upper case': (value) => `${head('SECRET')}data:\n  pin: ${value}\n`,
  'a misspelt kind': (value) => `${head('Secert')}stringData:\n  pin: ${value}\n`,
  'a plural': (value) => `${head('secrets')}stringData:\n  pin: ${value}\n`,
  'an escaped kind': (value) => `${head('"\\x53ecret"')}stringData:\n  pin: ${value}\n`,
  'a kind on the next line': (value) => `${head('\n  sekret')}stringData:\n  pin: ${value}\n`,
  'a kind of an alias': (value) => `x: &k "\\x53ecret"\n${head('*k')}stringData:\n  pin: ${value}\n`,
  'no kind': (value) => `apiVersion: v1\nmetadata: {name: a}\nstringData:\n  pin: ${value}\n`,
  'a misspelt key of the kind': (value) =>
    `apiVersion: v1\nknd: secret\nmetadata: {name: a}\nstringData:\n  pin: ${value}\n`,
  'neither kind nor apiVersion': (value) => `metadata: {name: a}\nstringData:\n  pin: ${value}\n`,
  'a wrong version': (value) => `${head('Secret', 'v2')}stringData:\n  pin: ${value}\n`,
  'a wrong group': (value) => `${head('Secret', 'core/v1')}stringData:\n  pin: ${value}\n`,
  'a group of others': (value) => `${head('Secret', 'vault.example.com/v1')}data:\n  pin: ${value}\n`,
  'an apiVersion that is none': (value) => `${head('Secret', 'V1/a/b')}stringData:\n  pin: ${value}\n`,
  'a misspelt member': (value) => `${head('Secret')}stringDta:\n  pin: ${value}\n`,
  'a member in another case': (value) => `${head('Secret')}StringData:\n  pin: ${value}\n`,
  'the copy of kubectl': (value) =>
    `apiVersion: v1\nkind: Secret\nmetadata:\n  name: a\n  annotations:\n    ${APPLIED}: ${value}\n`,
  'an encrypted kind': (value) =>
    `${head('SealedSecret', 'bitnami.com/v1alpha1')}spec:\n  template:\n    data:\n      pin: ${value}\n`,
  'a Secret below another kind': (value) =>
    `${head('Template', 'example.com/v1')}objects:\n- kind: Secret\n  stringData:\n    pin: ${value}\n`,
};

const JSON_VALUES: readonly Form[] = [
  { written: '7654325', hidden: ['7654325', ...TYPES] },
  { written: '1.7320508e5', hidden: ['1.7320508', '173205', ...TYPES] },
  { written: '98765432109876543210', hidden: ['98765432109', /too large/, ...TYPES] },
  { written: 'true', hidden: [/\btrue\b/, ...TYPES] },
  ...[
    '"hunter2',
    'hunter2',
    "'hunter2'",
    '"hunter2" x',
    '["hunter2"]',
    '{"hunter2": 1, "hunter2": 2}',
    '"hunter2\\x"',
  ].map((written) => ({ written, hidden: [M] })),
];

/** A mapping in the place of `data` has keys, which are no values. */
const isValueIn = (holder: string, { written }: Form): boolean =>
  holder !== 'the whole of data' || !/^(?:\{|\? |!!set |.*: )/.test(written);

interface Case extends Form {
  readonly path: string;
  readonly text: string;
}

const CASES: readonly Case[] = [
  ...Object.entries(HOLDERS).flatMap(([holder, write]) =>
    [...SCALARS, ...TEXTS]
      .filter((form) => isValueIn(holder, form))
      .map((form, index) => ({
        ...form,
        // For a ConfigMap the message names the type of the value.
        hidden: form.hidden.filter((piece) => holder !== SHARED || typeof piece === 'string'),
        path: `${holder.replaceAll(' ', '-')}/${index}.yaml`,
        text: write(form.written),
      })),
  ),
  ...['Secret', 'secret', 'Secrt', '\\u0053ecret'].flatMap((kind, holder) =>
    JSON_VALUES.map((form, index) => ({
      ...form,
      path: `json-${holder}/${index}.json`,
      text: `{"apiVersion": "v1", "kind": "${kind}", "metadata": {"name": "a"}, "stringData": {"pin": ${form.written}}}\n`,
    })),
  ),
];

/** What a text says of a value. Places and codes of findings are left out by the caller. */
function told(text: string, { hidden }: Form): readonly string[] {
  return hidden
    .filter((piece) => (typeof piece === 'string' ? text.includes(piece) : piece.test(text)))
    .map((piece) => `${piece} in ${JSON.stringify(text.slice(0, 300))}`);
}

/** The messages of cases that say something of a value. */
function leaks(said: readonly (readonly [Case, readonly string[]])[]): readonly string[] {
  return said
    .flatMap(([each, texts]) => texts.flatMap((text) => told(text, each).map((what) => `${each.path}: ${what}`)))
    .slice(0, 20);
}

describe('no message says anything of a value of a Secret', () => {
  let cwd: string;
  beforeAll(() => {
    cwd = mkdtempSync(join(tmpdir(), 'secret-values-'));
    for (const { path, text } of CASES) {
      mkdirSync(dirname(join(cwd, path)), { recursive: true });
      writeFileSync(join(cwd, path), text);
    }
  });
  afterAll(() => rmSync(cwd, { recursive: true }));

  it('of the decoder of a server', async () => {
    const decode = await openDecoder();
    const said = CASES.map((each) => {
      const { diagnostics, reading } = decode(each.path, bytesOf(each.text), 'blob');
      const shown = diagnostics.map(({ message, hint = '' }) => `${message} (${hint})`);
      return [each, [...shown, ...(reading.findings ?? [])]] as const;
    });
    expect(said.filter(([, shown]) => shown.length > 0).length).toBeGreaterThan(CASES.length / 2);
    expect(leaks(said)).toEqual([]);
  });

  it('of the reader of a directory cluster', () => {
    const said = CASES.map((each) => {
      const read = readLiveFile(each.path, bytesOf(each.text));
      return [each, read.ok ? [] : [read.problem]] as const;
    });
    expect(said.filter(([, shown]) => shown.length > 0).length).toBeGreaterThan(50);
    expect(leaks(said)).toEqual([]);
  });

  it('of validate, in JSON', async () => {
    const { out } = await runCli(['validate', '-o', 'json', '.'], { cwd, roots: compositionRoots });
    const { findings } = JSON.parse(out) as {
      readonly findings: readonly { message: string; hint?: string; path?: string; at?: { path: string } }[];
    };
    const byPath = Map.groupBy(findings, ({ at, path }) => at?.path ?? path ?? '');
    const said = CASES.map((each) => {
      const found = byPath.get(each.path) ?? [];
      return [
        each,
        found.map(
          ({ message, hint = '', ...rest }) =>
            `${message} (${hint}) ${JSON.stringify({ ...rest, at: 0, code: 0, fix: 0, line: 0, column: 0, path: 0 })}`,
        ),
      ] as const;
    });
    expect(said.filter(([, shown]) => shown.length > 0).length).toBeGreaterThan(CASES.length / 2);
    expect(leaks(said)).toEqual([]);
  });

  it('of validate in any other form, on a terminal, and with --fix', async () => {
    const some = CASES.filter((_, index) => index % 7 === 0);
    const folder = join(cwd, '.some');
    for (const { path, text } of some) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), text);
    }
    const outputs: string[] = [];
    for (const format of ['text', 'yaml', 'junit', 'tap', 'sarif', 'github', 'gitlab']) {
      const { out, err } = await runCli(['validate', '-o', format], { cwd: folder, roots: compositionRoots });
      outputs.push(out, err);
    }
    const write = (text: string): void => void outputs.push(text);
    const stdout = { write, isTerminal: true, colour: false, columns: 200 };
    await runCli(['validate', '--summary', '--fix'], { cwd: folder, roots: compositionRoots, stdout });
    const all = outputs.join('\n');
    expect(all).toContain(' fixed\n');
    // Words that tell a type may be about something else here.
    const hidden = some.flatMap((each) => each.hidden.filter((piece) => typeof piece === 'string' && piece.length > 6));
    expect(hidden.length).toBeGreaterThan(100);
    expect(told(all, { written: '', hidden: [...new Set(hidden)] })).toEqual([]);
  });
});

/** The kinds of the manifests whose values a plan and a recording mask. */
const KINDS = [
  ...[
    'v1 Secret',
    'v2 Secret',
    'core/v1 Secret',
    'vault.example.com/v1 Secret',
    'v1 secret',
    'v1 Secrets',
    'v1 SECRET',
  ],
  ...['v1 Secert', 'example.com/v1 secret'],
];

describe.each(KINDS)('values of %s', (named) => {
  const [apiVersion = '', kind = ''] = named.split(' ');
  const object = (values: JsonObject): JsonObject => ({ apiVersion, kind, metadata: { name: 'a' }, ...values });

  it.each<[string, JsonValue, JsonValue]>([
    ['another text', 'hunter2', 'hunter3'],
    ['a text and a number', 'hunter2', 7_654_321],
    ['a text and a boolean', true, 'hunter2'],
    ['a text and a list', 'hunter2', ['hunter3']],
    ['a list and a mapping', ['hunter2'], { key: 'hunter3' }],
    ['longer lists', ['x', 'hunter2'], ['x', 'hunter3', 'hunter4']],
    ['lists of named items', [{ name: 'x', value: 'hunter2' }], [{ name: 'x', value: 'hunter3' }]],
    ['a text and nothing', 'hunter2', null],
  ])('are masked in a plan: %s', (_, before, after) => {
    for (const member of ['data', 'stringData', 'stringDta', 'spec']) {
      const pairs = [
        [{ [member]: { pin: before } }, { [member]: { pin: after } }],
        [{ [member]: before }, { [member]: after }],
        [{ [member]: { pin: before } }, { [member]: after }],
        [{ [member]: { pin: before } }, {}],
        [{}, { [member]: after }],
      ] as const;
      for (const [older, newer] of pairs) {
        const shown = JSON.stringify(fieldDiff(object(older), object(newer)));
        expect(shown).not.toMatch(/hunter|7654321|true/);
      }
    }
    const applied = (value: JsonValue) => ({ metadata: { name: 'a', annotations: { [APPLIED]: value } } });
    expect(JSON.stringify(fieldDiff(object(applied(before)), object(applied(after))))).not.toMatch(
      /hunter|7654321|true/,
    );
  });

  it('are masked in a recording, and so are their digests', () => {
    const mask = createMask(() => 'h'.repeat(64));
    const value = object({ data: { pin: 'hunter2' }, stringDta: ['hunter2'] });
    const key = objectKey({ group: apiVersion.includes('/') ? 'core' : '', kind, namespace: 'web', name: 'a' });
    const digest = objectDigest(value);
    const document = { identity: key, content: { type: 'object', value, digest } };
    const entries: readonly RecordedEntry[] = [
      {
        input: 'files',
        partition: 'main',
        key: 'a.yaml',
        value: { readable: true, documents: [document] },
        blob: 'b10b',
      },
      { input: 'live', partition: 'east', key, value: { value, digest } },
      { input: 'ledger', partition: 'east', key, value: { digest } },
    ];
    const masked = JSON.stringify(entries.map((entry) => mask({} as CapturedEntry, entry)));
    expect(masked).not.toContain('hunter2');
    expect(masked).not.toContain(digest);
    expect(masked).not.toContain('b10b');
  });
});

it('no other kind of Kubernetes counts as misspelt', async () => {
  const kubernetes = await openKubernetesSchemas(newestKubernetesVersion);
  const groups = ['', 'apps', 'batch', 'networking.k8s.io', 'rbac.authorization.k8s.io', 'storage.k8s.io', 'policy'];
  const kinds = [...groups, 'resource.k8s.io', 'admissionregistration.k8s.io', 'apiextensions.k8s.io', 'events.k8s.io']
    .flatMap((group) => kubernetes.kindsOf(group))
    .concat(engineKindIds);
  expect(kinds.length).toBeGreaterThan(50);
  expect([...new Set(kinds)].filter(namesSecret)).toEqual(['Secret']);
});

it('what an API server and its webhooks say of a refused Secret is left out, but fields and reasons', () => {
  const causes = [{ reason: 'the PIN hunter2 is weak', message: 'hunter2', field: 'data[pin]' }];
  const refusal = { reason: 'hunter2 is no good', message: 'Invalid value: "hunter2"', causes };
  for (const status of [400, 403, 409, 422, 500]) {
    const { message } = failureOf({ type: 'refused', status, refusal }, true);
    expect(message).toContain('data[pin]');
    expect(message).not.toContain('hunter2');
  }
});

describe('a document without a kind of its own', () => {
  it.each([
    ['a comment has one', 'apiVersion: v1\n# kind: ConfigMap\ndata: {pin: 0123, b: *hunter2x}\n'],
    ['its owner has one', 'apiVersion: v1\nmetadata:\n  ownerReferences:\n  - kind: Deployment\ndata: {pin: 0123}\n'],
    ['braces have one', 'apiVersion: v1\nmetadata: {\nkind: ConfigMap\n}\ndata: {pin: 0123}\n'],
    ['a text has one', 'apiVersion: v1\nmetadata: "\nkind: ConfigMap\n"\ndata: {pin: 0123}\n'],
    ['a value has a line of JavaScript', 'apiVersion: v1\ndata: {a: x\u2028kind: ConfigMap\u2028}\n'],
    ['a member of JSON has one', '{"apiVersion": "v1", "metadata": {"kind": "Deployment"}, "data": {"pin": 0123}}'],
    [
      'a text of JSON has one',
      '{"apiVersion": "v1", "metadata": "\\"kind\\": \\"ConfigMap\\"", "data": {"pin": 0123}}',
    ],
  ])('may be a Secret though %s', (_, text) => {
    expect(mayHoldSecret(text)).toBe(true);
  });

  it.each([
    ['in YAML', "apiVersion: v1 # it is\n# don't\nkind: ConfigMap # one\ndata: {pin: 0123}\n"],
    ['in lines of Windows', 'apiVersion: v1\r\nkind: "ConfigMap"\r\ndata: {}\r\n'],
    ['in JSON', '{"metadata": {"name": "a"}, "kind": "ConfigMap", "data": {"pin": 0123}}'],
  ])('is told from one that has it: %s', (_, text) => {
    expect(mayHoldSecret(text)).toBe(false);
  });
});
