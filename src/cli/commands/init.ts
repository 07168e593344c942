import { existsSync } from 'node:fs';
import { delimiter, dirname, join, resolve } from 'node:path';
import type { ClusterName } from '../../model/fleet/ids.ts';
import { clusterName } from '../arguments.ts';
import type { CliContext } from '../cli-context.ts';
import { type CliCommand, newCommand } from '../command.ts';
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
      'Writes a repository to start from: a cluster, an application, the Placement that sends it there, guards, schemas and settings for editors, and a README with the next steps. With --hook it installs only a git hook, which validates what each commit changes. Doing it again changes nothing but schemas of another version of fleetrelay.',
    )
    .argument('[dir]', 'folder of the repository', '.')
    .option('--cluster <name>', 'name of the first cluster', clusterName, 'local' as ClusterName)
    .option(
      '--hook',
      'install the pre-commit hook of the repository that holds the folder, and write no files; needs the git program',
    )
    .option('--force', 'replace files, or a hook, with other content; .vscode/settings.json stays')
    .option('--dry-run', 'only say what would be done')
    .examples([
      ['fleetrelay init fleet && cd fleet', 'a new repository in the folder "fleet"'],
      ['fleetrelay validate && fleetrelay serve --folder .', 'check it, and run it'],
      ['fleetrelay init --hook', 'validate before each commit'],
    ])
    .answers(async ({ cluster, hook, force = false, dryRun = false }: Flags, folder: string) => {
      const { cwd, env, roots } = context;
      const writing = { folder, cwd, force, dryRun };
      const steps = await (hook === true ? roots.installHook(writing) : roots.initRepository({ ...writing, cluster }));
      return {
        value: steps,
        table: (out) => {
          writeSteps(out, steps);
          if (hook === true && !isOnPath(env)) context.stderr.write(NOT_ON_PATH);
          if (hook !== true && !isInRepository(resolve(cwd, folder))) {
            out.write(`\nIt is in no git repository yet: git init ${folder}\n`);
          }
          if (hook !== true && !dryRun) out.write(`\nNext: ${folder === '.' ? 'README.md' : `${folder}/README.md`}\n`);
        },
      };
    });
}

const NOT_ON_PATH =
  'warning: fleetrelay is not on the PATH of this shell: a hook that does not find it refuses every commit; put it there, or commit with --no-verify\n';

/** Whether a program of this name is on the PATH, where a hook looks for it. */
function isOnPath({ PATH = '' }: CliContext['env']): boolean {
  return PATH.split(delimiter).some((folder) => folder !== '' && existsSync(join(folder, 'fleetrelay')));
}

/** Whether the folder, which may be missing yet, or one above it is a work tree. */
function isInRepository(folder: string): boolean {
  if (existsSync(join(folder, '.git'))) return true;
  const above = dirname(folder);
  return above !== folder && isInRepository(above);
}
