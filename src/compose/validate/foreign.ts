import { setImmediate as nextTurn } from 'node:timers/promises';
import { isForeign } from '../../manifest/foreign-documents.ts';
import type { DecodedFile } from '../../model/fleet/desired.ts';
import { asError, judgeForeign } from '../../sources/tree/foreign-files.ts';
import { createPace } from '../../sources/tree/pace.ts';
import { placementsIn } from '../../sources/tree/placement-steps.ts';
import { claimedBy, type ToolFolders } from '../../sources/tree/tool-folders.ts';
import type { CheckedFile } from './check-file.ts';
import { type Inputs, pathInSource, sourceRoot } from './inputs.ts';

/** Judges files of other tools as the server with this source does: a file that is wanted as desired state is an error. */
export async function withForeignVerdicts(
  { files, claimed, tools, ignoreFolders }: Inputs,
  checked: readonly CheckedFile[],
  cwd: string,
): Promise<readonly CheckedFile[]> {
  const foreign = files.flatMap(({ location }, index) =>
    checked[index]?.diagnostics.some(isForeign) === true ? [{ location, index }] : [],
  );
  if (foreign.length === 0) return checked;
  const root = sourceRoot(ignoreFolders, cwd);
  const declarations = checked.flatMap(({ facts }) => facts?.declarations ?? []);
  const indexes = new Map(foreign.map(({ location, index }) => [index, pathInSource(root, location)]));
  const verdicts = await judgeForeign({
    placements: [placementsIn(declarations)],
    isFleet: () =>
      declarations.some(
        ({ content }) =>
          content.type === 'declaration' && (content.kind === 'KubernetesCluster' || content.kind === 'Placement'),
      ),
    tools: toolsBelow(root, tools),
    paths: new Set([...indexes.values(), ...claimed.map((location) => pathInSource(root, location))]),
    pace: createPace(nextTurn),
  });
  return checked.map((file, index) => {
    const path = indexes.get(index);
    const because = path === undefined ? undefined : verdicts.wantedBecause(path, file);
    if (because === undefined) return file;
    return { ...file, diagnostics: file.diagnostics.map((diagnostic) => asError(diagnostic, because)) };
  });
}

/** The charts and kustomizations of all folders, with paths relative to the root of the source. */
function toolsBelow(root: string, tools: Inputs['tools']): ToolFolders {
  const files = new Map<string, DecodedFile>();
  const parts = new Set<string>();
  for (const [folder, found] of tools) {
    const prefix = pathInSource(root, folder);
    const at = (path: string): string => (prefix === '' ? path : path === '' ? prefix : `${prefix}/${path}`);
    for (const [path, file] of found.files) {
      files.set(at(path), { ...file, parts: claimedBy(path, file).map(at) });
    }
    for (const part of found.parts) parts.add(at(part));
  }
  return { files, parts, paths: [...files.keys()] };
}
