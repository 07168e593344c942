import { engineDomains } from '../../src/domains/engines.ts';
import { createGraph } from '../../src/engine/collections/graph.ts';
import { type EnginePlan, planOf } from '../../src/engine/explain/plan.ts';
import { createEngine, type Engine } from '../../src/engine/graph.ts';
import { type CapturedEntry, captureInputs, recordedEntry, stagerOf } from '../../src/engine/recording.ts';
import type { FileReading } from '../../src/model/fleet/desired.ts';
import { inputLine, parseLine, type RecordedEntry } from '../../src/model/fleet/recording.ts';
import { parseJson } from '../../src/model/text/json.ts';
import { atOnce } from '../../src/model/values/in-slices.ts';
import { must } from '../../src/model/values/result.ts';
import { stageFile } from '../../src/runtime/replica/sources.ts';

/** The inputs of an engine after its last barrier, as lines of a recording. `mask`: see `createMask`. */
export function linesOf(
  engine: Engine,
  mask: (captured: readonly CapturedEntry[]) => (entry: RecordedEntry) => RecordedEntry = () => (entry) => entry,
): readonly string[] {
  const captured = atOnce(captureInputs(engine));
  const masked = mask(captured);
  return captured.map((entry) => inputLine(masked(recordedEntry(entry))));
}

/** An engine that has computed from these lines. */
export function engineOf(lines: readonly string[]): Engine {
  const engine = createEngine(createGraph(), engineDomains);
  const stage = stagerOf(engine);
  for (const line of lines) {
    const parsed = must(parseLine(line));
    if (parsed.type === 'input' && !stage(parsed)) throw new Error(`there is no input ${parsed.input}`);
  }
  engine.commit();
  return engine;
}

/** What these changes of a source would do to the state of the lines. */
export function planFrom(
  lines: readonly string[],
  source: string,
  changes: readonly { readonly path: string; readonly file: FileReading | null }[],
): { readonly plan: EnginePlan; readonly engine: Engine } {
  const engine = engineOf(lines);
  const plan = planOf(engine, () => {
    for (const { path, file } of changes) stageFile(engine, source, path, file);
  });
  return { plan, engine };
}

/** The lines by input, partition and key. */
export function byAddress(lines: readonly string[]): ReadonlyMap<string, string> {
  return new Map(
    lines.map((line) => {
      const [, input, partition, key, value] = parseJson(line) as readonly string[];
      return [JSON.stringify([input, partition, key]), JSON.stringify(value)];
    }),
  );
}
