import { join, resolve } from 'node:path';
import { printYaml } from '../../manifest/print-yaml.ts';
import type { ClusterName } from '../../model/fleet/ids.ts';
import { clusterManifest } from '../cluster/cluster-file.ts';
import type { Step } from '../step.ts';
import { type FileWriting, writeOnce } from '../write-once.ts';
import { EDITOR_SETTINGS, editorSettings, keepSettings, modeline, schemaFiles } from './editor-files.ts';

/** What `fleetrelay init` writes. */
export interface InitRequest extends FileWriting {
  /** Relative to `cwd`. */
  readonly folder: string;
  readonly cluster: ClusterName;
  readonly cwd: string;
}

/**
 * Writes a repository to start from: one cluster, one Placement and what it sends there, schemas and settings for editors.
 * Rejects with a text for a person instead of replacing a file with other content, unless it is forced to. Schemas are
 * replaced, because each version of fleetrelay has its own. Settings of the editor stay, with what is to be added to them.
 */
export async function initRepository({ folder, cluster, cwd, ...writing }: InitRequest): Promise<readonly Step[]> {
  const root = resolve(cwd, folder);
  const schemas = await schemaFiles();
  const files = { ...repositoryFiles(cluster), [EDITOR_SETTINGS]: editorSettings(), ...schemas };
  const steps: Step[] = [];
  // Asks for all files before it writes the first one: a refusal leaves nothing half done.
  for (const dryRun of writing.dryRun ? [true] : [true, false]) {
    steps.length = 0;
    for (const [path, text] of Object.entries(files)) {
      const force = writing.force || path in schemas;
      const kept = path === EDITOR_SETTINGS ? await keepSettings(join(root, path)) : undefined;
      const step =
        kept ?? (await writeOnce('file', join(root, path), text, (there) => there === text, { force, dryRun }));
      steps.push({ ...step, what: path, where: folder });
    }
  }
  return steps;
}

/** The files of the repository by path. */
function repositoryFiles(cluster: ClusterName): Readonly<Record<string, string>> {
  return {
    'README.md': readme(cluster),
    '.fleetrelayignore': IGNORED,
    '.gitignore': `/${DATA}/\n/live/\n`,
    [`clusters/${cluster}/cluster.yaml`]:
      modeline('KubernetesCluster', '../..') + printYaml(clusterManifest(cluster, { env: 'test' })),
    'apps/hello/hello.yaml': HELLO,
    'placements/hello.yaml': modeline('Placement', '..') + PLACEMENT,
    'fleet/policy.yaml': modeline('FleetPolicy', '..') + POLICY,
  };
}

/** Where the server keeps its data unless it is told otherwise. */
const DATA = 'fleetrelay-data';

const IGNORED = `# What is no desired state, in the syntax of .gitignore.
.*
/${DATA}/
/live/
`;

const HELLO = `# Every manifest that a Placement selects goes to the clusters as it is.
apiVersion: v1
kind: Namespace
metadata:
  name: hello
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: greeting
  namespace: hello
data:
  text: Hello, fleet.
`;

const PLACEMENT = `# Sends everything below apps/hello to the clusters with the label env: test.
apiVersion: fleetrelay.dev/v1alpha1
kind: Placement
metadata:
  name: hello
spec:
  paths:
    - apps/hello/**
  clusters:
    selector:
      matchLabels:
        env: test
`;

const POLICY = `# Guards hold removals beyond these numbers until a person approves them.
apiVersion: fleetrelay.dev/v1alpha1
kind: FleetPolicy
metadata:
  name: fleet
spec:
  guards:
    maxRemovalsPerCluster: 10
    maxRemovalsPerFleet: 20
`;

function readme(cluster: ClusterName): string {
  return `# A fleet

This repository says what the clusters of a fleet should be. fleetrelay makes them agree with it.

- \`clusters/NAME/\`: the cluster NAME, and manifests for this cluster alone
- \`apps/\`: manifests for several clusters
- \`placements/\`: which manifests go to which clusters
- \`fleet/\`: guards and other settings of the fleet
- \`.fleetrelay/schemas/\`: the schemas of these kinds, which editors read (VS Code with the extension YAML); after an upgrade
  \`fleetrelay init\` writes them again, and \`fleetrelay schema export\` writes the schemas of all kinds

Before a commit:

    fleetrelay validate
    fleetrelay init --hook      # validates what each commit changes

Try it on this machine, where the folder \`live/\` plays the cluster:

    fleetrelay serve --folder .

and in another terminal:

    fleetrelay cluster token ${cluster} --data-dir ${DATA} > ${DATA}/${cluster}.token
    fleetrelay agent --cluster ${cluster} --server 127.0.0.1:9900 --token-file ${DATA}/${cluster}.token --ca-file ${DATA}/trust/ca.crt --directory live

In a third one \`fleetrelay status\` shows the fleet. Change \`apps/hello/hello.yaml\`, and look into \`live/\`.
`;
}
