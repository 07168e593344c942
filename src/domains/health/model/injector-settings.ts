import { memberProblem } from '../../../model/agent/agent-members.ts';
import { parseJson } from '../../../model/text/json.ts';
import { ok, problem, type Result } from '../../../model/values/result.ts';

declare module '../../../model/agent/agent-settings.ts' {
  interface AgentSettings {
    /** How the probes of admitted Pods are rewritten; only for agents that take it. */
    readonly injector?: InjectorSettings;
  }
}

/** How the probes of admitted Pods are rewritten. */
export interface InjectorSettings {
  /** 0: the Application Probe Proxy is off. */
  readonly applicationProbeProxyPort: number;
  readonly virtualProbesEnabled: boolean;
  readonly virtualProbesPort: number;
  /** Of the webhook: whether a Pod is created while no agent answers. */
  readonly failurePolicy: 'Fail' | 'Ignore';
}

/** Parses the settings of the injector from storage. An unknown member is a problem. */
export function parseInjectorSettings(text: string): Result<InjectorSettings> {
  const value = parseJson(text);
  const found = memberProblem('injector', value);
  return found === undefined ? ok(value as unknown as InjectorSettings) : problem(`settings: ${found}`);
}
