/**
 * `npm start`: the demo. It serves a git repository made from `examples/repo`, and runs the management server and three
 * agents on this machine. With `--once` it plays a story and exits with 0 only if every step has happened.
 */
import { join } from 'node:path';
import { parseArgs, styleText } from 'node:util';
import { terminalOf } from '../src/cli/output.ts';
import { printYaml } from '../src/manifest/print-yaml.ts';
import { errorText } from '../src/model/text/messages.ts';
import { type DemoClusters, directoryClusters } from './demo/clusters.ts';
import { kubernetesClusters } from './demo/kubernetes-clusters.ts';
import { type Stage, setStage } from './demo/stage.ts';
import { liveSettings, type Step, story } from './demo/story.ts';
import { findKubernetesPrograms, howToGetKubernetesPrograms } from './local/kubernetes-programs.ts';

const USAGE = `Usage: npm start -- [OPTIONS]

Serves a git repository, and runs the management server and three agents whose clusters are
folders, all on loopback, until Ctrl-C.

  --once               play the complete story, and exit with 0 only if every step has happened
  -o, --output FORMAT  how --once reports: text (default), json or yaml
  --kubernetes         the clusters are real API servers; needs kube-apiserver, etcd and kubectl
  --folder DIR         work in this folder, which must be empty or absent (default: a temporary one)
  --keep               leave the folder behind
  -h, --help           show this help

FLEETRELAY_PROGRAM names a program to run in place of this checkout's.
`;

const PROJECT = join(import.meta.dirname, '..');
const FORMATS: readonly string[] = ['text', 'json', 'yaml'];

/** The command line is wrong. */
class UsageError extends Error {}

function readOptions() {
  const text = { type: 'string' } as const;
  const flag = { type: 'boolean', default: false } as const;
  const options = {
    ...{ once: flag, kubernetes: flag, keep: flag, folder: text },
    ...{ help: { ...flag, short: 'h' }, output: { ...text, short: 'o', default: 'text' } },
  } as const;
  const { values } = parse();
  const { output, once } = values;
  if (!FORMATS.includes(output)) throw new UsageError(`-o takes ${FORMATS.join(', ')}, not ${output}`);
  if (output !== 'text' && !once)
    throw new UsageError(`-o ${output} needs --once: without it the demo runs until Ctrl-C`);
  return values;

  function parse() {
    try {
      return parseArgs({ options });
    } catch (error) {
      throw new UsageError(errorText(error), { cause: error });
    }
  }
}

type Options = ReturnType<typeof readOptions>;

/** The result of one step. */
interface Played {
  readonly name: string;
  readonly title: string;
  readonly ok: boolean;
  readonly saw: string;
  readonly millis: number;
}

const { colour } = terminalOf(process.stdout.isTTY === true, process.env);

function print(text: string): void {
  process.stdout.write(text);
}

/** Runs the demo until the signal; returns the exit code. */
async function runDemo(options: Options, signal: AbortSignal): Promise<number> {
  const talk = options.output === 'text' ? print : () => undefined;
  const started = performance.now();
  const openClusters = clustersOf(options);
  const program = { file: process.env.FLEETRELAY_PROGRAM ?? join(PROJECT, 'bin/fleetrelay.cjs'), env: process.env };
  const stage = await setStage(program, {
    examples: join(PROJECT, 'examples/repo'),
    keep: options.keep,
    clusters: (folder) => {
      const clusters = openClusters(folder);
      talk(`Setting the stage: a git server, a management server and ${clusters.description} ...\n`);
      return clusters;
    },
    ...(options.folder === undefined ? {} : { folder: options.folder }),
  }).catch((error: unknown) => {
    // A terminal sends Ctrl-C to the processes of the stage as well: they were meant to end early.
    if (signal.aborted) return undefined;
    throw error;
  });
  if (stage === undefined) return options.once ? 1 : 0;
  try {
    if (options.once) return await playAll(stage, options.output, signal, talk, started);
    return await invite(stage, signal, talk);
  } finally {
    await stage.stop();
    if (options.keep) talk(`The demo has left its files in ${stage.folder}.\n`);
  }
}

function clustersOf({ kubernetes }: Options): (folder: string) => DemoClusters {
  if (!kubernetes) return directoryClusters;
  const programs = findKubernetesPrograms(process.env);
  if (programs === undefined) throw new Error(howToGetKubernetesPrograms(process.env));
  return (folder) => kubernetesClusters(programs, folder);
}

/** Plays the first step, prints what a person can try, and waits for the signal. */
async function invite(stage: Stage, signal: AbortSignal, talk: (text: string) => void): Promise<number> {
  const [first] = story;
  const played = await playOne(first, stage, signal);
  if (!signal.aborted) {
    report(played, talk);
    if (!played.ok) return 1;
    talk(invitation(stage));
    await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
  }
  talk('\nStopping ...\n');
  return 0;
}

async function playAll(
  stage: Stage,
  output: string,
  signal: AbortSignal,
  talk: (text: string) => void,
  started: number,
): Promise<number> {
  const steps: Played[] = [];
  for (const step of story) {
    const played = await playOne(step, stage, signal);
    steps.push(played);
    report(played, talk);
    if (!played.ok) break;
  }
  const ok = steps.length === story.length && steps.every((step) => step.ok);
  const millis = Math.round(performance.now() - started);
  const document = { ok, millis, steps: steps.map((step) => ({ ...step })) };
  if (output === 'json') print(`${JSON.stringify(document, undefined, 2)}\n`);
  if (output === 'yaml') print(printYaml(document));
  const outcome = ok ? 'Every step really happened' : 'The story stopped early';
  talk(`\n${outcome}, ${steps.length} of ${story.length} in ${(millis / 1000).toFixed(1)} s.\n`);
  return ok ? 0 : 1;
}

async function playOne({ name, title, play }: Step, stage: Stage, signal: AbortSignal): Promise<Played> {
  const before = performance.now();
  const result = await play(stage, signal).then(
    (saw) => ({ ok: true, saw }),
    (error: unknown) => ({ ok: false, saw: errorText(error) }),
  );
  return { name, title, ...result, millis: Math.round(performance.now() - before) };
}

function report({ ok, title, saw, millis }: Played, talk: (text: string) => void): void {
  const mark = ok ? paint('green', '✓') : paint('red', '✗');
  talk(`${mark} ${title} ${paint('dim', `(${millis} ms)`)}\n    ${saw.replaceAll('\n', '\n    ')}\n`);
}

function invitation(stage: Stage): string {
  const command = (text: string): string => `    ${paint('cyan', text)}`;
  const cli = (text: string): string => command(`npm run --silent fleetrelay -- ${text}${stage.apiOption}`);
  const work = stage.work.directory;
  const push = (message: string): string =>
    `git -C ${work} commit -qam '${message}' && git -C ${work} push -q origin HEAD:main`;
  const edit = (field: string, value: string, file: string): string =>
    `sed -i 's/${field}: .*/${field}: ${value}/' ${work}/apps/${file}`;
  const east = stage.cluster('east');
  const show = east.showCommand(liveSettings);
  return [
    '',
    `The fleet runs. It lives in ${stage.folder}; try this from another terminal, in this folder:`,
    ...whyWithApi(stage),
    '',
    '  Edit a file, and ask what the change would do:',
    command(edit('greeting', 'Howdy', 'shop/settings.yaml')),
    cli(`plan ${work}`),
    '  Push it, and see it arrive:',
    command(push('Howdy')),
    command(`sleep 1; ${show}`),
    '  Edit a live object, and watch it being put back:',
    command(`${east.editCommand(liveSettings, 'greeting', 'Changed')}; sleep 1; ${show} | grep greeting`),
    '  Ask where an object comes from, and what was sent to a cluster:',
    cli('explain edge ConfigMap/info/contacts'),
    cli('history east'),
    '  Push a removal that the guard holds, and approve it:',
    command(`git -C ${work} rm -rq apps/shop && ${push('Close the shop')}`),
    cli('approve --list'),
    cli('approve DIGEST'),
    '  Stop an agent, push a change, and see which cluster is waited for, and what to do:',
    command(`kill ${stage.agentPid('west')}`),
    command(`${edit('owner', 'another team', 'info/info.yaml')} && ${push('Another owner')}`),
    cli('status'),
    cli('check'),
    '  Read the status branch:',
    command(`git -C ${work} fetch -q && git -C ${work} --no-pager log --stat -3 origin/fleetrelay/status/demo`),
    '',
    'Ctrl-C ends it.',
    '',
  ].join('\n');
}

/** Why the commands name the server; nothing if they need not. */
function whyWithApi({ api, apiOption }: Stage): readonly string[] {
  if (apiOption === '') return [];
  const other = process.env.FLEETRELAY_API;
  const cause = other === undefined ? 'its usual port is taken' : `FLEETRELAY_API is ${other}`;
  return [`The server answers at ${api}, and ${cause}: so the commands have --api.`];
}

function paint(style: 'green' | 'red' | 'dim' | 'cyan', text: string): string {
  return colour ? styleText(style, text, { validateStream: false }) : text;
}

/** Aborts at the first signal to end; the second one ends the process at once. */
function untilStopped(): AbortSignal {
  const controller = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(name, () => {
      if (controller.signal.aborted) process.exit(130);
      controller.abort();
    });
  }
  return controller.signal;
}

try {
  const options = readOptions();
  if (options.help) print(USAGE);
  else process.exitCode = await runDemo(options, untilStopped());
} catch (error) {
  process.stderr.write(`fleetrelay: ${errorText(error)}\n`);
  process.exitCode = error instanceof UsageError ? 2 : 1;
}
