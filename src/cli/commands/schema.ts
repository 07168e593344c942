import {
  type KubernetesVersion,
  kubernetesVersions,
  newestKubernetesVersion,
} from '../../validation/kubernetes-schemas.ts';
import type { CliContext } from '../cli-context.ts';
import { type CliCommand, newCommand } from '../command.ts';
import { kubernetesVersionOption } from '../kubernetes-versions.ts';
import { listAnswer } from '../output.ts';

/** `fleetrelay schema export`. */
export function schemaCommand(context: CliContext): CliCommand {
  const command = newCommand('schema', context)
    .summary('JSON Schemas of all kinds, for editors and other validators')
    .description('JSON Schemas of the kinds of Kubernetes, of fleetrelay, and of CustomResourceDefinitions.')
    .examples([['fleetrelay schema export .schemas', 'for the newest version of Kubernetes']]);
  exportCommand(command.command('export'), context);
  return command;
}

interface Flags {
  readonly kubernetesVersion?: readonly KubernetesVersion[];
}

const USE = `
In an editor with the YAML language server (VS Code: settings of the extension YAML):
  yaml.schemas: { ".schemas/v1.36.3-standalone-strict/all.json": "**/*.yaml" }
or on the first line of a file:
  # yaml-language-server: $schema=../.schemas/v1.36.3-standalone-strict/deployment-apps-v1.json
With kubeconform:
  kubeconform -strict -kubernetes-version 1.36.3 -schema-location \\
    '.schemas/{{ .NormalizedKubernetesVersion }}-standalone{{ .StrictSuffix }}/{{ .ResourceKind }}{{ .KindSuffix }}.json' .
`;

function exportCommand(command: CliCommand, context: CliContext): void {
  command
    .summary('write the schemas into a folder')
    .description(
      'Writes one JSON Schema for each kind and version in the layout that kubeconform reads, and an all.json that accepts any of them.',
    )
    .argument('<dir>', 'folder to write to; schemas that are there already are replaced')
    .argument('[path...]', 'folders whose CustomResourceDefinitions are exported as well', [])
    .addOption(kubernetesVersionOption(`version of Kubernetes, ${kubernetesVersions.join(', ')}`))
    .examples([
      ['fleetrelay schema export .schemas', 'for the newest version'],
      ['fleetrelay schema export .schemas crds/ --kubernetes-version 1.33', 'with the kinds that crds/ defines'],
    ])
    .addHelpText('after', USE)
    .answers(
      async ({ kubernetesVersion = [newestKubernetesVersion] }: Flags, folder: string, paths: readonly string[]) => {
        const exported = await context.roots.exportSchemas({
          folder,
          versions: kubernetesVersion,
          definitionFolders: paths,
          cwd: context.cwd,
        });
        return listAnswer(
          [
            { title: 'KUBERNETES', text: (row) => row.kubernetesVersion },
            { title: 'SCHEMAS', text: (row) => String(row.kinds) },
            { title: 'FOLDER', text: (row) => `${folder}/${row.folder}` },
          ],
          exported,
          'nothing was written',
        );
      },
    );
}
