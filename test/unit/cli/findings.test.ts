import fc from 'fast-check';
import { XMLParser, XMLValidator } from 'fast-xml-parser';
import stringWidth from 'string-width';
import { describe, expect, test } from 'vitest';
import { excerptOf } from '../../../src/cli/findings/excerpt.ts';
import { fleetVersions } from '../../../src/cli/kubernetes-versions.ts';
import type { ResourceOutcome, ValidationReport } from '../../../src/compose/validate/report.ts';
import { type Diagnostic, diagnosticOf } from '../../../src/model/fleet/diagnostic.ts';
import { recordingRoots, runCli } from '../../support/cli.ts';
import { runServer } from '../../support/running-server.ts';
import { clusterView, fakeApi, fleetView } from '../../support/server-api.ts';

const EMPTY: ValidationReport = {
  ...{ files: 0, documents: 0, diagnostics: [], resources: [], notEvaluated: [], excerpts: new Map(), fixed: [] },
};

const finding = (over: Partial<Diagnostic> = {}): Diagnostic => ({
  ...diagnosticOf({
    severity: 'error',
    reason: 'UnknownField',
    message: 'spec.x is not known',
    at: { path: 'a.yaml', line: 7, column: 3 },
  }),
  ...over,
});

const resource = (line: number, name: string, over: Partial<ResourceOutcome> = {}): ResourceOutcome => ({
  ...{ path: 'a.yaml', line, column: 1, apiVersion: 'v1', kind: 'ConfigMap', namespace: 'shop', name, state: 'valid' },
  ...over,
});

async function written(format: string, report: Partial<ValidationReport>, over: Parameters<typeof runCli>[1] = {}) {
  const roots = recordingRoots({ validate: async () => ({ ...EMPTY, ...report }) });
  return (await runCli(['validate', '-o', format], { roots, ...over })).out;
}

describe('an excerpt', () => {
  const marked = (line: string, column: number, width = 60) => {
    const { text, marks } = excerptOf(line, column, width);
    return `${text}\n${marks}`;
  };

  test.each([
    ['  replicas: three', 13, '  replicas: three\n            ^^^^^'],
    ['  replcas: 3', 3, '  replcas: 3\n  ^^^^^^^'],
    ['image: a:1 # the image', 8, 'image: a:1 # the image\n       ^^^'],
    ['a: "b \\" c" # d', 4, 'a: "b \\" c" # d\n   ^^^^^^^^'],
    ['a: { b: c d, e: f }', 9, 'a: { b: c d, e: f }\n        ^^^'],
    ['message: hello world', 10, 'message: hello world\n         ^^^^^^^^^^^'],
    ['empty:', 1, 'empty:\n^^^^^'],
    ['', 1, '\n^'],
    ['short', 99, 'short\n     ^'],
    ['a: b\r', 4, 'a: b\n   ^'],
  ])('of %j marks the value at column %i', (line, column, expected) => {
    expect(marked(line, column)).toBe(expected);
  });

  test('counts the cells of a terminal: tabs, wide, combining and joined characters', () => {
    expect(marked('\t\ta: b', 6)).toBe('    a: b\n       ^');
    expect(marked('東京: 値', 5)).toBe('東京: 値\n      ^^');
    expect(marked('cafe\u0301: x', 8)).toBe('cafe\u0301: x\n      ^');
    expect(marked('👩‍👩‍👧: x', 11)).toBe('👩‍👩‍👧: x\n    ^');
  });

  test('obeys no control character', () => {
    expect(marked('a: \u001b[31mred\u202e', 4)).toBe('a: \ufffd[31mred\ufffd\n   ^^^^^^^^^');
  });

  test('of a very long line is cut on both sides of the value', () => {
    const line = `${'x'.repeat(1_000_000)}: y${' # z'.repeat(100_000)}`;
    const { text, marks } = excerptOf(line, 1_000_003, 40);
    expect(text).toMatch(/^…x+: y # z.*…$/);
    expect(stringWidth(text)).toBeLessThanOrEqual(40);
    expect(text.slice(marks.length - 1, marks.length)).toBe('y');
  });

  test('fits and has its mark inside, for any line and column', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary', maxLength: 200 }),
        fc.nat(220),
        fc.integer({ min: 20, max: 80 }),
        (line, column, width) => {
          const { text, marks } = excerptOf(line.replaceAll('\n', ''), column, width);
          expect(stringWidth(text)).toBeLessThanOrEqual(width);
          expect(marks).toMatch(/^ *\^+$/);
          // biome-ignore lint/suspicious/noControlCharactersInRegex: looking for control characters is the point.
          expect(text).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u202a-\u202e]/);
        },
      ),
    );
  });
});

describe('on a terminal', () => {
  const onTerminal = async (report: Partial<ValidationReport>) => {
    const parts: string[] = [];
    const stdout = { write: (more: string) => void parts.push(more), isTerminal: true, colour: false, columns: 60 };
    await written('text', report, { stdout });
    return parts.join('');
  };

  test('findings stand below their file, with the line and marks', async () => {
    const excerpts = new Map([['a.yaml:7', '  replcas: 3']]);
    expect(await onTerminal({ diagnostics: [finding({ hint: 'did you mean replicas?' }), finding()], excerpts })).toBe(
      [
        'a.yaml',
        '  7:3 error FR2003: spec.x is not known',
        '    did you mean replicas?',
        '    7 │   replcas: 3',
        '      │   ^^^^^^^',
        '  7:3 error FR2003: spec.x is not known',
        '    7 │   replcas: 3',
        '      │   ^^^^^^^',
        '',
        '2 errors, 0 warnings in 0 documents of 0 files',
        'about a code: fleetrelay explain FR2003',
        '',
      ].join('\n'),
    );
  });

  test('what was fixed and what was not checked is listed', async () => {
    const fixed = [{ path: 'a.yaml', findings: 2 }];
    const text = await onTerminal({ fixed, notEvaluated: ['a rule in CEL'] });
    expect(text).toBe(
      'a.yaml: 2 findings fixed\nnot checked: a rule in CEL\n0 errors, 0 warnings in 0 documents of 0 files\n',
    );
  });
});

describe('a finding belongs to the document that it is in', () => {
  const resources = [
    resource(1, 'one'),
    resource(5, 'two', { state: 'invalid' }),
    resource(9, 'three', { state: 'skipped' }),
    resource(1, 'other', { path: 'b <"&>.yaml', state: 'noSchema' }),
  ];
  const warning = finding({
    severity: 'warning',
    message: 'not good',
    at: { path: 'b <"&>.yaml', line: 2, column: 1 },
  });
  const broken = finding({ message: 'no YAML \u0007 \ud800', at: { path: 'c#1.yaml' } });
  const report = { resources, diagnostics: [finding(), warning, broken] };

  test('in junit, whose text is XML whatever it quotes', async () => {
    const xml = await written('junit', report);
    expect(XMLValidator.validate(xml)).toBe(true);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: XML cannot hold them.
    expect(xml).not.toMatch(/[\u0000-\u0008\ud800]/);
    const { testsuites } = new XMLParser({ ignoreAttributes: false }).parse(xml);
    expect(testsuites).toMatchObject({ '@_tests': '5', '@_failures': '2', '@_skipped': '2' });
    const [a, b] = testsuites.testsuite;
    expect(
      a.testcase.map((each: Record<string, string>) => [each['@_name'], each['@_line'], 'failure' in each]),
    ).toEqual([
      ['v1 ConfigMap shop/one', '1', false],
      ['v1 ConfigMap shop/two', '5', true],
      ['v1 ConfigMap shop/three', '9', false],
    ]);
    expect(b['@_name']).toBe('b <"&>.yaml');
    expect(b.testcase).toMatchObject({ 'system-out': expect.stringContaining('not good') });
  });

  test('in tap', async () => {
    const lines = (await written('tap', report)).split('\n').filter((line) => !line.startsWith(' '));
    expect(lines).toEqual([
      'TAP version 14',
      '1..5',
      'ok 1 - a.yaml:1 v1 ConfigMap shop/one',
      'not ok 2 - a.yaml:5 v1 ConfigMap shop/two',
      'ok 3 - a.yaml:9 v1 ConfigMap shop/three # SKIP the kind is skipped',
      'ok 4 - b <"&>.yaml:1 v1 ConfigMap shop/other # SKIP there is no schema of the kind',
      'not ok 5 - c\\#1.yaml the file',
      '',
    ]);
  });
});

test('workflow commands of GitHub escape what would end them', async () => {
  const diagnostics = [
    finding({ message: '100% sure\n::error::x', hint: 'a, b', at: { path: 'a,b:c%.yaml', line: 1, column: 2 } }),
    finding({ at: undefined as never }),
  ];
  expect((await written('github', { diagnostics })).split('\n').slice(0, 2)).toEqual([
    '::error file=a%2Cb%3Ac%25.yaml,line=1,col=2,title=FR2003 UnknownField::100%25 sure ::error::x (a, b)',
    '::error title=FR2003 UnknownField::spec.x is not known',
  ]);
});

describe('no output obeys a manifest', () => {
  const HOSTILE = [
    ...[
      '::error::x',
      ' ::stop-commands::t',
      'a\n::add-mask::b',
      '\r\n\t::debug::c',
      '##[error]d',
      '##vso[task.complete]e',
    ],
    ...[
      '\u001b]8;;http://x\u0007',
      '\u009b31m',
      '\u0000',
      '\u202e',
      '</failure><x>',
      ']]>',
      '# SKIP',
      '...\n---\nok 9',
    ],
  ];
  const report: Partial<ValidationReport> = {
    resources: HOSTILE.map((text, index) => resource(index + 1, text, { kind: text, namespace: text, path: text })),
    diagnostics: HOSTILE.flatMap((text, index) =>
      (['error', 'warning'] as const).map((severity) =>
        finding({ severity, message: text, hint: text, at: { path: text, line: index + 1, column: 1 } }),
      ),
    ),
    fixed: HOSTILE.map((path) => ({ path, findings: 1 })),
    notEvaluated: HOSTILE,
    excerpts: new Map(HOSTILE.map((text, index) => [`${text}:${index + 1}`, text])),
  };

  test.each(['text', 'json', 'junit', 'tap', 'sarif', 'github', 'gitlab'])('%s', async (format) => {
    const text = await written(format, report);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: no output may hold them.
    expect(text).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/);
    expect(text).not.toMatch(/##[a-z]*\[/i);
    const commands = text.split('\n').filter((line) => line.trimStart().startsWith('::'));
    const own = format === 'github' ? report.diagnostics : [];
    expect(commands.filter((line) => !/^::(?:error|warning) (?:file|line)=/.test(line))).toEqual([]);
    expect(commands).toHaveLength(own?.length ?? 0);
    if (format === 'tap') {
      const points = text.split('\n').filter((line) => /^(?:not )?ok\b/.test(line));
      expect(points.map((line) => line.split(' - ')[0])).toEqual(HOSTILE.map((_, index) => `not ok ${index + 1}`));
      expect(points.filter((line) => / # /.test(line))).toEqual([]);
    }
    if (format === 'junit') expect(XMLValidator.validate(text)).toBe(true);
    if (['json', 'sarif', 'gitlab'].includes(format)) {
      const messages = JSON.stringify(JSON.parse(text));
      for (const each of HOSTILE) expect(messages).toContain(JSON.stringify(each).slice(1, -1));
    }
  });

  test('also not the text on a terminal', async () => {
    const out: string[] = [];
    const stdout = { write: (text: string) => out.push(text), isTerminal: true, colour: false, columns: 60 };
    await written('text', report, { stdout });
    // biome-ignore lint/suspicious/noControlCharactersInRegex: no output may hold them.
    expect(out.join('')).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e]/);
  });
});

test('paths are relative to the root of the repository that the CI system names', async () => {
  const diagnostics = [finding({ at: { path: '../a b.yaml', line: 1, column: 1 } })];
  const over = { env: { CI_PROJECT_DIR: '/work' }, cwd: '/work/fleet' };
  expect(JSON.parse(await written('gitlab', { diagnostics }, over))[0].location.path).toBe('a b.yaml');
  const outside = await written('sarif', { diagnostics }, { ...over, env: {} });
  expect(JSON.parse(outside).runs[0].results[0].locations[0].physicalLocation.artifactLocation).toEqual({
    uri: 'file:///work/a%20b.yaml',
  });
});

test('the fingerprint of a finding stays when lines are added above it, and differs for an equal finding', async () => {
  const prints = async (line: number) => {
    const diagnostics = [
      finding({ at: { path: 'a.yaml', line, column: 3 } }),
      finding({ at: { path: 'a.yaml', line: line + 1, column: 3 } }),
    ];
    const issues = JSON.parse(await written('gitlab', { diagnostics, resources: [resource(line - 1, 'one')] }));
    return issues.map(({ fingerprint }: { readonly fingerprint: string }) => fingerprint);
  };
  const before = await prints(7);
  expect(before[0]).not.toBe(before[1]);
  expect(await prints(12)).toEqual(before);
});

describe('the options', () => {
  test('become the request', async () => {
    const roots = recordingRoots();
    const args =
      '--kubernetes-version v1.34.2 --kubernetes-version 1.36 --schema-location s/{{.ResourceKind}}.json --context east';
    const more = '--skip Secret,apps/Deployment --skip Job --changed-since origin/main --strict-kinds --fix';
    await runCli(['validate', 'a', ...args.split(' '), ...more.split(' ')], { roots });
    expect(roots.calls).toMatchObject([
      [
        'validate',
        {
          paths: ['a'],
          kubernetesVersions: ['1.34', '1.36'],
          schemaLocations: ['s/{{.ResourceKind}}.json'],
          cluster: { context: 'east' },
          skip: ['Secret', 'apps/Deployment', 'Job'],
          since: 'origin/main',
          strictKinds: true,
          fix: true,
          excerpts: false,
        },
      ],
    ]);
  });

  test.each(['text', 'json', 'junit', 'tap', 'sarif', 'github', 'gitlab'])(
    'leave out no rule that was not evaluated: %s',
    async (format) => {
      const empty = await recordingRoots().validate({ paths: [], cwd: '/', readStdin: async () => new Uint8Array() });
      const roots = recordingRoots({ validate: async () => ({ ...empty, notEvaluated: ['a rule of spec'] }) });
      const { out, err } = await runCli(['validate', '-o', format], { roots });
      expect(`${out}${err}`.split('a rule of spec')).toHaveLength(2);
    },
  );

  test.each([
    [['-o', 'sarf'], 'Did you mean sarif?'],
    [['-o', 'table'], 'text, json, yaml, junit, tap, sarif, github, gitlab'],
    [['--kubernetes-version', '1.3'], 'Did you mean 1.33?'],
    [['--kubernetes-version', 'v1.37.1'], 'Did you mean 1.36?'],
    [['--kubernetes-version', 'latest'], '1.33, 1.34, 1.35, 1.36'],
    [['--strict-kinds', '--ignore-missing-schemas'], 'exclude each other'],
    [['--api', 'http://127.0.0.1:9', '--kubernetes-version', '1.36'], 'exclude each other'],
    [['--fix', '-', 'a.yaml'], 'takes no other path'],
    [['--fix', '-', '-o', 'json'], 'no other output'],
    [['--strict-kind'], 'Did you mean --strict-kinds?'],
  ])('%j is a wrong command line', async (args, message) => {
    const { code, err } = await runCli(['validate', ...args]);
    expect(code).toBe(2);
    expect(err).toContain(message);
  });

  test('that cannot be met end with 2, as 1 means errors in manifests', async () => {
    const ending = (error: Error) => recordingRoots({ validate: () => Promise.reject(error) });
    const unknown = await runCli(['validate', '--changed-since', 'x'], { roots: ending(new Error('no commit "x"')) });
    expect(unknown).toEqual({ code: 2, out: '', err: 'fleetrelay: no commit "x"\n' });
    expect((await runCli(['validate'], { roots: ending(new TypeError('x')) })).code).toBe(70);
  });

  test('--fix of standard input writes the text to standard output, and the findings beside it', async () => {
    const roots = recordingRoots({
      validate: async () => ({ ...EMPTY, diagnostics: [finding()], fixedStdin: 'a: "yes"\n' }),
    });
    const { out, err } = await runCli(['validate', '--fix', '-'], { roots });
    expect(out).toBe('a: "yes"\n');
    expect(err).toContain('a.yaml:7:3: error FR2003');
  });
});

describe('the versions of a fleet', () => {
  const fleet = (...versions: readonly (string | null)[]) =>
    fleetVersions(versions.map((kubernetesVersion, index) => clusterView(`c${index}`, { kubernetesVersion })));

  test('are each minor version that a cluster runs, oldest first', () => {
    expect(fleet('v1.36.3', 'v1.34.5+k3s1', 'v1.36.0', 'v1.34.1')).toEqual({
      versions: ['1.34', '1.36'],
      warnings: [],
    });
  });

  test('without schemas are the nearest ones that have schemas, with a warning', () => {
    const { versions, warnings } = fleet('v1.27.1', 'v1.40.0');
    expect(versions).toEqual(['1.33', '1.36']);
    expect(warnings).toEqual([
      'cluster c0 runs Kubernetes v1.27.1, which has no schemas here; it is checked as 1.33',
      'cluster c1 runs Kubernetes v1.40.0, which has no schemas here; it is checked as 1.36',
    ]);
  });

  test('that are not known are counted in a warning', () => {
    expect(fleet('v1.36.3', null, 'nonsense')).toEqual({
      versions: ['1.36'],
      warnings: ['2 clusters of 3 reported no version of Kubernetes'],
    });
  });

  test('are asked of the server with --api', async () => {
    const clusters = [
      clusterView('east', { kubernetesVersion: 'v1.34.2' }),
      clusterView('west', { kubernetesVersion: null }),
    ];
    const server = await runServer({ api: fakeApi(fleetView({ clusters })) }, { people: [] });
    const roots = recordingRoots();
    const { err } = await runCli(['validate', '--api', server.url], { roots });
    await server.stop();
    expect(roots.calls).toMatchObject([['validate', { kubernetesVersions: ['1.34'] }]]);
    expect(err).toBe(
      'warning: 1 cluster of 2 reported no version of Kubernetes\nwarning: no manifest was found in .\n',
    );
  });
});
