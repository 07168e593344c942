import process from 'node:process';
import type { CliContext } from '../../src/cli/cli-context.ts';
import type { CliCommand } from '../../src/cli/command.ts';
import { type MainContext, main } from '../../src/cli/main.ts';
import type { TextOutput } from '../../src/cli/output.ts';
import type { Roots } from '../../src/cli/roots.ts';
import { parseWith, withExitCode } from '../../src/cli/run-command.ts';
import { runChecks } from '../../src/compose/check/checks.ts';
import type { RecordingHeader } from '../../src/model/fleet/recording.ts';
import type { PlanView } from '../../src/model/plan/plan.ts';

/** What a command line did. */
export interface CliRun {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** A plan that changes nothing. */
export const EMPTY_PLAN: PlanView = {
  ...{ source: 'main', revision: 'worktree', base: 'b'.repeat(40), at: '2026-01-31T10:42:07Z' },
  state: { revisions: { main: 'b'.repeat(40) } },
  summary: {
    ...{ create: 0, change: 0, move: 0, remove: 0, hold: 0, stay: 0, leave: 0, cancel: 0 },
    ...{ clusters: 0, registered: 2 },
  },
  ...{ clusters: [], warnings: [], findings: [], notJudged: [] },
};

const HEADER: RecordingHeader = {
  ...{ recording: 'fleetrelay', form: 1, at: '2026-01-31T10:42:07Z', version: '1.2.3', fleet: 'prod', revisions: [] },
};

/** Composition roots that say what they were called with. */
export function recordingRoots(answers: Partial<Roots> = {}): Roots & { readonly calls: [string, unknown][] } {
  const calls: [string, unknown][] = [];
  const record =
    <Answer>(name: string, answer: Answer) =>
    async (options: unknown): Promise<Answer> => {
      calls.push([name, options]);
      return answer;
    };
  return {
    calls,
    serve: record('serve', 0),
    agent: record('agent', 0),
    validate: record('validate', {
      ...{ files: 0, documents: 0, diagnostics: [], resources: [], notEvaluated: [], excerpts: new Map(), fixed: [] },
    }),
    findDocuments: record('findDocuments', { documents: [], diagnostics: [] }),
    render: record('render', {
      ...{ clusters: [], objectsOf: () => [], statuses: {}, findings: [], views: {}, isInvalid: false },
    }),
    planDocuments: record('planDocuments', EMPTY_PLAN),
    planFolder: record('planFolder', EMPTY_PLAN),
    isFolder: async ({ path }) => path === '.',
    writeRecording: record('writeRecording', {
      ...{ file: '/work/fleet.jsonl.gz', header: HEADER, inputs: 2, outputs: 1, bytes: 300 },
    }),
    replayRecording: record('replayRecording', {
      ...{ header: HEADER, inputs: 2, outputs: 1, unknownInputs: [], differences: [], more: 0 },
    }),
    diffRecordings: record('diffRecordings', { before: HEADER, after: HEADER, differences: [], more: 0 }),
    exportSchemas: record('exportSchemas', []),
    initRepository: record('initRepository', []),
    installHook: record('installHook', []),
    token: record('token', 'frt1_token'),
    clusterRegister: record('clusterRegister', { cluster: 'east', steps: [], printed: '', notes: [] }),
    check: async ({ fleet, ...others }, io) => {
      await record('check', [])(others);
      return runChecks({ fleet }, io);
    },
    clusterDeregister: record('clusterDeregister', { cluster: 'east', steps: [], holds: null, notes: [] }),
    clusterResetPosition: record('clusterResetPosition', {
      ...{ cluster: 'east', where: 'https://east', position: { epoch: 5, sequence: 6 }, admitted: null },
      ...{ holds: 3, reset: true, notes: ['3 objects of the fleet in east: unchanged'] },
    }),
    clusterAdopt: record('clusterAdopt', { cluster: 'east', server: '', objects: [] }),
    debugSnapshot: record('debugSnapshot', {
      takenAt: '',
      version: '1.2.3',
      destination: '/work/x.tar.gz',
      files: [],
      missing: [],
      leftOut: [],
    }),
    ...answers,
  };
}

/**
 * Runs a command line inside this process, without colours. The environment is empty unless told otherwise, but for the
 * folder in which servers leave the tokens of their APIs. `commandOf` makes the command that the first word names, instead of
 * the registry.
 */
export async function runCli(
  args: readonly string[],
  over: Partial<MainContext> = {},
  commandOf?: (context: CliContext) => CliCommand,
): Promise<CliRun> {
  const texts = { out: '', err: '' };
  const output = (name: 'out' | 'err'): TextOutput => ({
    write: (text) => {
      texts[name] += text;
    },
    isTerminal: false,
    colour: false,
    columns: 120,
  });
  const context: MainContext = {
    stdout: output('out'),
    stderr: output('err'),
    cwd: '/work',
    version: '1.2.3',
    readStdin: async () => new Uint8Array(),
    untilStopped: () => new AbortController().signal,
    stopSignals: () => ({ first: new AbortController().signal, second: new AbortController().signal }),
    roots: recordingRoots(),
    ...over,
    env: { XDG_STATE_HOME: process.env.XDG_STATE_HOME, ...over.env },
  };
  if (commandOf === undefined) return { code: await main(args, context), ...texts };
  const [name = '', ...rest] = args;
  const code = await withExitCode(context, args, (exit) => parseWith(commandOf({ ...context, exit }), name, rest));
  return { code, ...texts };
}
