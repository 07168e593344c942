/** How the probes of admitted Pods are rewritten. */
export interface InjectorSettings {
  /** 0: the Application Probe Proxy is off. */
  readonly applicationProbeProxyPort: number;
  readonly virtualProbesEnabled: boolean;
  readonly virtualProbesPort: number;
  /** Of the webhook: whether a Pod is created while no agent answers. */
  readonly failurePolicy: 'Fail' | 'Ignore';
}
