import { type Command, Option } from 'commander';
import type { DemoOptions } from '../../compose/options.ts';
import { CliError } from '../cli-error.ts';
import { type CliContext, examples, newCommand } from '../command.ts';
import { EXIT } from '../exit-codes.ts';
import { runRoot } from '../run-root.ts';

interface Flags {
  readonly once?: true;
  readonly output: DemoOptions['output'];
  readonly directory?: string;
  readonly keep?: true;
  readonly kubernetes?: true;
}

const EXAMPLES = examples([
  ['fleetrelay demo', 'start everything, say what to try, go on until Ctrl-C'],
  ['fleetrelay demo --once', 'play the whole story and say what was seen at each step'],
  ['fleetrelay demo --once -o json', 'the same as one JSON object'],
  ['fleetrelay demo --once --kubernetes', 'the same on real Kubernetes API servers'],
]);

/** `fleetrelay demo`: everything on one machine. */
export function demoCommand(context: CliContext): Command {
  return newCommand('demo', context)
    .summary('a repository, a server and three clusters on this machine, to see it work')
    .description(
      'Serves a git repository, runs the management server and three agents whose clusters are folders (or Kubernetes API servers, with --kubernetes), all on loopback.',
    )
    .option('--once', 'play the whole story step by step, and exit 0 only if every step really happened')
    .addOption(
      new Option('-o, --output <format>', 'how --once reports').choices(['text', 'json', 'yaml']).default('text'),
    )
    .option(
      '--kubernetes',
      'on real API servers; needs kube-apiserver, etcd and kubectl (KUBEBUILDER_ASSETS, PATH, or built here)',
    )
    .option('--directory <dir>', 'where to work; must be empty or absent (default: a new temporary folder)')
    .option('--keep', 'leave the folder behind')
    .addHelpText('after', EXAMPLES)
    .action(async ({ once, output, directory, keep, kubernetes }: Flags) => {
      if (output !== 'text' && once !== true) {
        throw new CliError(EXIT.usage, `-o ${output} needs --once`, 'without it the demo goes on until Ctrl-C');
      }
      await runRoot(context, context.roots.demo, {
        once: once === true,
        output,
        ...(directory === undefined ? {} : { directory }),
        keep: keep === true,
        kubernetes: kubernetes === true,
      });
    });
}
