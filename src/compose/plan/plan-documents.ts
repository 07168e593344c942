import { resolve } from 'node:path';
import type { Engine } from '../../engine/graph.ts';
import { displayLocation } from '../../model/fleet/diagnostic.ts';
import { parseSourceName } from '../../model/fleet/ids.ts';
import { defaultRevisionLimits } from '../../model/limits/revision-limits.ts';
import type { PlanView } from '../../model/plan/plan.ts';
import { rfc3339 } from '../../model/text/time.ts';
import { must } from '../../model/values/result.ts';
import { stageFile } from '../../runtime/replica/sources.ts';
import { newFindings } from '../../sources/git/read-ref.ts';
import { judgedFiles } from '../../sources/tree/judge-nodes.ts';
import { configuredSource, type SourceChoice } from '../configured-source.ts';
import { openEvaluation } from '../evaluate.ts';
import { systemDeps } from '../kube.ts';
import { makePlan } from './make-plan.ts';
import { isFolder } from './plan-folder.ts';
import { readRevisions } from './read-revisions.ts';

/** Two states of a folder of a git repository, to be compared from documents alone. */
export interface DocumentPlanRequest extends SourceChoice {
  /** A folder, whose work tree is the second state, or a commit of the repository in the working directory. */
  readonly target: string;
  /** A commit: the first state is what it shares with the second one. */
  readonly base: string;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

const NOT_JUDGED = [
  'what clusters hold: every object of the first state counts as applied',
  'the guards, which count what clusters own and what was removed of late',
  'safe mode, and what waits for a cluster or its agent',
  'what is made of live state: mirrored Services, health, the care of Shoots',
];

/** Plans from documents alone, without a server. Rejects with a text for a person. */
export async function planDocuments(request: DocumentPlanRequest): Promise<PlanView> {
  const { target, base, cwd, env } = request;
  const source = await configuredSource(request, cwd);
  const { name = must(parseSourceName('main')), limits = defaultRevisionLimits } = source ?? {};
  const read = await readRevisions({
    base,
    limits,
    env,
    ...((await isFolder({ cwd, path: target })) ? { folder: resolve(cwd, target) } : { folder: cwd, revision: target }),
  });
  try {
    const engine = openEvaluation({ files: judgedFiles(read.before.nodes), ...(source && { source }) });
    engine.commit();
    countAsApplied(engine);
    const stage = (): void => {
      for (const { path, file } of read.after.changes) stageFile(engine, name, path, file);
    };
    const about = {
      source: name,
      revision: read.revision ?? 'worktree',
      base: read.base,
      at: rfc3339(systemDeps().clock.now()),
      state: { revisions: { [name]: read.base } },
      notJudged: NOT_JUDGED,
      withoutGuards: true as const,
      findings: newFindings(read.before.diagnostics, read.after.tree.diagnostics),
    };
    return await makePlan(engine, stage, about, { place: async (ref) => displayLocation(await read.locate(ref)) });
  } finally {
    read.close();
  }
}

/** Enters every object of the outputs into the ledger, as if its agent had accepted it. */
function countAsApplied(engine: Engine): void {
  const { inputs, outputs } = engine;
  for (const cluster of [...outputs.partitions()]) {
    for (const { key, value } of outputs.entries(cluster)) {
      if (value.type !== 'object') continue;
      const { digest, origins, scope } = value;
      inputs.ledger.set(cluster, key, { digest, origins, scope, phase: 'accepted' });
    }
  }
  engine.commit();
}
