import { styleText } from 'node:util';
import { printYaml } from '../../manifest/print-yaml.ts';
import { errorText } from '../../model/error-text.ts';
import type { DemoOptions, RunIo } from '../options.ts';
import type { Program } from './child.ts';
import { type DemoClusters, directoryClusters } from './clusters.ts';
import { kubernetesClusters } from './kubernetes-clusters.ts';
import { findKubernetesPrograms, howToGetKubernetesPrograms } from './kubernetes-programs.ts';
import { type Stage, setStage } from './stage.ts';
import { liveSettings, type Step, story } from './story.ts';

/** What one step came to. */
interface Played {
  readonly name: string;
  readonly title: string;
  readonly ok: boolean;
  readonly saw: string;
  readonly millis: number;
}

/**
 * Runs the demo: a git server, a management server and three agents on this machine. With `once` the whole story is
 * played; the exit code is 0 only if every step has really happened. Rejects with a text for a person if the programs of
 * Kubernetes are asked for and not here.
 */
export async function runDemo(options: DemoOptions, signal: AbortSignal, io: RunIo): Promise<number> {
  const talk = options.output === 'text' ? io.out : () => undefined;
  const clusters = chooseClusters(options, io);
  const started = performance.now();
  const stage = await setStage(ownProgram(io.env), {
    keep: options.keep,
    clusters: (folder) => {
      const chosen = clusters(folder);
      talk(`Setting the stage: a git server, a management server and ${chosen.description} ...\n`);
      return chosen;
    },
    ...(options.directory === undefined ? {} : { directory: options.directory }),
  }).catch((error: unknown) => {
    // A terminal sends Ctrl-C to the processes of the stage as well: that they ended early is what was asked for.
    if (signal.aborted) return undefined;
    throw error;
  });
  if (stage === undefined) return options.once ? 1 : 0;
  try {
    if (options.once) return await playAll(stage, options, signal, io, talk, started);
    const [first] = story;
    const played = first === undefined ? undefined : await playOne(first, stage, signal);
    if (!signal.aborted) {
      if (played !== undefined) report(played, talk, io.colour);
      // A fleet that did not come up is nothing to try things on.
      if (played?.ok === false) return 1;
      talk(invitation(stage, io.colour));
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
    }
    talk('\nStopping ...\n');
    return 0;
  } finally {
    await stage.stop();
    if (options.keep) talk(`What it worked on is left in ${stage.folder}.\n`);
  }
}

function chooseClusters({ kubernetes }: DemoOptions, io: RunIo): (folder: string) => DemoClusters {
  if (!kubernetes) return directoryClusters;
  const programs = findKubernetesPrograms(io.env);
  if (programs === undefined) throw new Error(howToGetKubernetesPrograms(io.env));
  return (folder) => kubernetesClusters(programs, folder, io);
}

/** The program that this demo is a part of. */
function ownProgram(env: RunIo['env']): Program {
  const file = process.argv[1];
  if (file === undefined) throw new Error('the demo cannot find the program that it is part of');
  return { file, env };
}

async function playAll(
  stage: Stage,
  { output }: DemoOptions,
  signal: AbortSignal,
  io: RunIo,
  talk: (text: string) => void,
  started: number,
): Promise<number> {
  const steps: Played[] = [];
  for (const step of story) {
    const played = await playOne(step, stage, signal);
    steps.push(played);
    report(played, talk, io.colour);
    if (!played.ok) break;
  }
  const ok = steps.length === story.length && steps.every((step) => step.ok);
  const total = Math.round(performance.now() - started);
  const document = { ok, millis: total, steps: steps.map((step) => ({ ...step })) };
  if (output === 'json') io.out(`${JSON.stringify(document, undefined, 2)}\n`);
  if (output === 'yaml') io.out(printYaml(document));
  talk(
    `\n${ok ? 'Every step really happened' : 'The story stopped early'}, ${steps.length} of ${story.length} in ${(total / 1000).toFixed(1)} s.\n`,
  );
  return ok ? 0 : 1;
}

async function playOne(step: Step, stage: Stage, signal: AbortSignal): Promise<Played> {
  const { name, title } = step;
  const before = performance.now();
  const result = await step.play(stage, signal).then(
    (saw) => ({ ok: true, saw }),
    (error: unknown) => ({ ok: false, saw: errorText(error) }),
  );
  return { name, title, ...result, millis: Math.round(performance.now() - before) };
}

function report({ ok, title, saw, millis }: Played, talk: (text: string) => void, colour: boolean): void {
  const mark = ok ? paint('green', '✓', colour) : paint('red', '✗', colour);
  talk(`${mark} ${title} ${paint('dim', `(${millis} ms)`, colour)}\n    ${saw.replaceAll('\n', '\n    ')}\n`);
}

function invitation(stage: Stage, colour: boolean): string {
  const command = (text: string): string => `    ${paint('cyan', text, colour)}`;
  const cli = `npm run --silent fleetrelay --`;
  const work = stage.work.directory;
  const east = stage.cluster('east');
  const show = east.showCommand(liveSettings);
  const greet = (word: string): string =>
    `sed -i 's/greeting: .*/greeting: ${word}/' ${work}/apps/shop/settings.yaml && git -C ${work} commit -qam ${word} && git -C ${work} push -q origin HEAD:main`;
  return [
    '',
    `The fleet runs. It lives in ${stage.folder}; try this from another terminal, in this folder:`,
    '',
    '  Edit a file and push:',
    command(greet('Howdy')),
    command(`sleep 1; ${show}`),
    '  Edit a live object, and watch it being put back:',
    command(`${east.editCommand(liveSettings, 'greeting', 'Changed')}; sleep 1; ${show} | grep greeting`),
    '  Ask where an object comes from:',
    command(`${cli} explain edge ConfigMap/info/contacts --api ${stage.api}`),
    '  Push a removal that the guard holds, and approve it:',
    command(
      `git -C ${work} rm -rq apps/shop && git -C ${work} commit -qm 'Close the shop' && git -C ${work} push -q origin HEAD:main`,
    ),
    command(`${cli} approve --list --api ${stage.api}`),
    command(`${cli} approve DIGEST --api ${stage.api}`),
    '  Stop an agent, push a change, and see who is waited for:',
    command(`kill ${stage.agentPid('west')}`),
    command(
      `sed -i 's/owner: .*/owner: somebody else/' ${work}/apps/info/info.yaml && git -C ${work} commit -qam 'Another owner' && git -C ${work} push -q origin HEAD:main`,
    ),
    command(`${cli} status --api ${stage.api}`),
    '  Read the status branch:',
    command(`git -C ${work} fetch -q && git -C ${work} --no-pager log --stat -3 origin/fleetrelay/status/demo`),
    '',
    'Ctrl-C ends it.',
    '',
  ].join('\n');
}

function paint(style: 'green' | 'red' | 'dim' | 'cyan', text: string, colour: boolean): string {
  return colour ? styleText(style, text, { validateStream: false }) : text;
}
