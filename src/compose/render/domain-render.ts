import type { Engine } from '../../engine/graph.ts';
import type { AgentReports } from '../../model/agent/agent-report.ts';
import type { AgentSettings } from '../../model/agent/agent-settings.ts';
import type { Diagnostic } from '../../model/fleet/diagnostic.ts';
import type { LiveState } from '../../ports/cluster-api.ts';

/** A file with inputs of a domain, as it was read. */
export interface InputFile {
  /** Stages what the file says. */
  stage(engine: Engine): void;
  /** What is wrong in the file, under the path that it was given by. The engine has evaluated it. */
  findings(engine: Engine): readonly Diagnostic[];
}

/** Reads a file with inputs of a domain. Rejects with a text for people if it cannot be read. `path` is what diagnostics name. */
export type ReadInput = (file: string, path: string) => Promise<InputFile>;

/** The reports that the agent of a recorded cluster would make for a domain at a moment. */
export type RecordedReports = (live: LiveState, settings: AgentSettings, nowMillis: number) => AgentReports;

/** What a domain adds to an evaluation of a folder and of recorded clusters. A function imports its part when it is called. */
export interface DomainRender {
  /** Absent: agents report nothing for the domain. */
  readonly reports?: () => Promise<RecordedReports>;
  /** A file that an option of `render` names, and what reads it; absent: there is none. */
  readonly file?: { readonly option: string; readonly what: string; readonly read: () => Promise<ReadInput> };
}
