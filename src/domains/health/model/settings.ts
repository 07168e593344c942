import type { PolicySection } from '../../../model/fleet/fleet-policy.ts';
import type { LabelSelector } from '../../../model/objects/label-selector.ts';
import type { InjectorSettings } from './injector-settings.ts';

declare module '../../../model/fleet/desired.ts' {
  interface FleetPolicy {
    readonly health?: HealthSettings;
  }
}

/** What a `FleetPolicy` says of data planes and their health. */
export interface HealthSettings {
  /** Names of containers that make a Pod a data plane; every other container is an application's. */
  readonly sidecars: readonly string[];
  /** Makes a Pod a data plane by its labels, too; absent: none. */
  readonly podSelector?: LabelSelector;
  readonly injector: InjectorSettings;
  /** How long after a start what was made from reports of health is kept, if its data plane does not report. */
  readonly reportWaitSeconds: number;
}

/** The settings of a policy that says nothing of data planes. The schema documents the same figures. */
export const healthDefaults: HealthSettings = {
  sidecars: ['kuma-sidecar', 'istio-proxy'],
  injector: {
    applicationProbeProxyPort: 9001,
    virtualProbesEnabled: false,
    virtualProbesPort: 9000,
    failurePolicy: 'Fail',
  },
  reportWaitSeconds: 180,
};

/** Every agent is told how it rewrites the probes of admitted Pods. */
export const healthSection: PolicySection = {
  name: 'health',
  forAgents: { injector: ({ health: { injector } = healthDefaults }) => injector },
};
