import type { ClusterName } from '../../model/ids.ts';
import { clusterName } from '../arguments.ts';
import { type CliCommand, type CliContext, newCommand } from '../command.ts';
import { writeSteps } from '../output.ts';

interface Flags {
  readonly cluster: ClusterName;
  readonly hook?: true;
  readonly force?: boolean;
  readonly dryRun?: boolean;
}

/** `fleetrelay init [DIR]`: a repository to start from, or the git hook of one. */
export function initCommand(context: CliContext): CliCommand {
  return newCommand('init', context)
    .summary('make a repository to start from; install its git hook')
    .description(
      'Writes a repository to start from: a cluster, an application, the Placement that sends it there, guards, and a README with the next steps. With --hook it installs only a git hook, which validates what each commit changes. Doing it again changes nothing.',
    )
    .argument('[dir]', 'folder of the repository', '.')
    .option('--cluster <name>', 'name of the first cluster', clusterName, 'local' as ClusterName)
    .option(
      '--hook',
      'install the pre-commit hook of the repository that holds the folder, and write no files; needs the git program',
    )
    .option('--force', 'replace files, or a hook, with other content')
    .option('--dry-run', 'only say what would be done')
    .examples([
      ['fleetrelay init fleet && cd fleet', 'a new repository in the folder "fleet"'],
      ['fleetrelay validate && fleetrelay serve --folder .', 'check it, and run it'],
      ['fleetrelay init --hook', 'validate before each commit'],
    ])
    .answers(async ({ cluster, hook, force = false, dryRun = false }: Flags, folder: string) => {
      const { cwd, roots } = context;
      const writing = { folder, cwd, force, dryRun };
      const steps = await (hook === true ? roots.installHook(writing) : roots.initRepository({ ...writing, cluster }));
      return {
        value: steps,
        table: (out) => {
          writeSteps(out, steps);
          if (hook !== true && !dryRun) out.write(`\nNext: ${folder === '.' ? 'README.md' : `${folder}/README.md`}\n`);
        },
      };
    });
}
