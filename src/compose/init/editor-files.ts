import { readIfThere } from '../../adapters/tls/files.ts';
import { type EngineKind, engineKindRow } from '../../model/fleet/engine-kinds.ts';
import { schemaFileName } from '../../validation/to-json-schema.ts';
import { ownSchemas } from '../schema/own-schemas.ts';
import type { Step } from '../step.ts';

/** The kinds whose files a new repository has, and where they lie in it. */
const KINDS = {
  KubernetesCluster: 'clusters/*/cluster.yaml',
  Placement: 'placements/**/*.yaml',
  FleetPolicy: 'fleet/**/*.yaml',
} as const satisfies Partial<Record<EngineKind, string>>;

type Kind = keyof typeof KINDS;

/** Where the settings of VS Code for a repository lie. */
export const EDITOR_SETTINGS = '.vscode/settings.json';

/** Which files have which schema. The extension YAML has the schemas of Kubernetes itself. */
const ASSIGNED: Readonly<Record<string, string>> = {
  ...Object.fromEntries(Object.entries(KINDS).map(([kind, files]) => [`./${schemaPath(kind as Kind)}`, files])),
  kubernetes: 'apps/**/*.yaml',
};

/** The schemas that the files of a new repository name, by path. The path begins with a dot: no source reads them as manifests. */
export async function schemaFiles(): Promise<Readonly<Record<string, string>>> {
  const named = new Set(Object.keys(KINDS).map((kind) => schemaPath(kind as Kind)));
  const files = (await ownSchemas()).map(
    (kind) => [pathOf(schemaFileName(kind)), `${JSON.stringify(kind.schema, null, 2)}\n`] as const,
  );
  return Object.fromEntries(files.filter(([path]) => named.has(path)));
}

/** The line that tells every editor with the YAML language server the schema of a file; `root` leads from its folder to the repository. */
export function modeline(kind: Kind, root: string): string {
  return `# yaml-language-server: $schema=${root}/${schemaPath(kind)}\n`;
}

/** The settings of a new repository, as text. */
export function editorSettings(): string {
  return `${JSON.stringify({ 'yaml.schemas': ASSIGNED }, null, 2)}\n`;
}

/**
 * Keeps settings that exist, and says what to add to them. Undefined: there are none. The file is JSON with comments, so it is only
 * searched for the paths.
 */
export async function keepSettings(where: string): Promise<Step | undefined> {
  const there = (await readIfThere(where))?.toString('utf8');
  if (there === undefined) return undefined;
  const step = { what: EDITOR_SETTINGS, where };
  const missing = Object.entries(ASSIGNED).filter(([schema]) => !there.includes(`"${schema}"`));
  if (missing.length === 0) return { ...step, outcome: 'unchanged' };
  const toAdd = JSON.stringify({ 'yaml.schemas': Object.fromEntries(missing) });
  return { ...step, outcome: 'left', message: `add to it ${toAdd}` };
}

function schemaPath(kind: Kind): string {
  const { versions, ...row } = engineKindRow(kind);
  return pathOf(schemaFileName({ ...row, version: versions[0] }));
}

function pathOf(file: string): string {
  return `.fleetrelay/schemas/${file}`;
}
