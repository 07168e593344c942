import type { Engine } from '../../engine/graph.ts';
import type { FileValue } from '../../engine/inputs.ts';
import type { FileReading } from '../../model/desired.ts';
import type { RevisionObservation } from '../../ports/source.ts';

/** A revision that the fleet's outputs are computed from. */
export type AdmittedRevision = Omit<RevisionObservation, 'changes'>;

/** What becomes of what the sources of this process observe. */
export interface Intake {
  /** A source has read something new. */
  observed(observation: RevisionObservation): void;
  /** How a source is has changed. */
  conditionChanged?(source: string): void;
  /** What of a source is admitted; undefined: nothing yet. */
  admitted(source: string): AdmittedRevision | undefined;
}

/** Stages one file of a source; null: it is gone. */
export function stageFile(engine: Engine, source: string, path: string, file: FileReading | null): void {
  if (file === null) engine.inputs.files.delete(source, path);
  else {
    const { findings, blob } = file;
    const value: FileValue = file.readable
      ? { readable: true, findings, documents: file.documents.map(({ identity, content }) => ({ identity, content })) }
      : { readable: false, findings };
    engine.inputs.files.set(source, path, value, { blob });
  }
}
