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

/** What a domain adds to an evaluation of a folder and of recorded clusters. */
export interface DomainRender {
  /** The reports that the agent of a recorded cluster would make for the domain at a moment; absent: it makes none. */
  readonly reports?: (live: LiveState, settings: AgentSettings, nowMillis: number) => AgentReports;
  /**
   * Reads the file that the option of the domain names; absent: it has no option. Rejects with a text for people if the file cannot
   * be read. `path` is what diagnostics name.
   */
  readonly read?: (file: string, path: string) => Promise<InputFile>;
}
