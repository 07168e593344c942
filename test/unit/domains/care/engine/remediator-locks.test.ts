import { expect, it } from 'vitest';
import { engineDiagnostics } from '../../../../../src/engine/status/diagnostics.ts';
import { defaultFleetPolicy } from '../../../../../src/model/fleet/fleet-policy.ts';
import { agentSettings } from '../../../../../src/sinks/agents/settings.ts';
import { createEngineWorld } from '../../../../support/engine-world.ts';
import { clusterYaml } from '../../../../support/manifests.ts';

const SHOOT =
  'apiVersion: core.gardener.cloud/v1beta1\nkind: Shoot\nmetadata: {name: blue, namespace: garden-web}\nspec: {}\n';

/** What the agents of a Shoot's cluster and of another cluster do about webhooks. */
function remediators(care: string, isAllowed: boolean) {
  const { engine, file } = createEngineWorld();
  engine.inputs.fleet.set('', '', {
    bounds: { guards: {}, safeModes: [], webhookRemediator: isAllowed },
    role: 'leader',
  });
  file('clusters.yaml', `${clusterYaml('blue')}---\n${clusterYaml('green')}`);
  file('shoot.yaml', SHOOT);
  file(
    'policy.yaml',
    `apiVersion: fleetrelay.dev/v1alpha1\nkind: FleetPolicy\nmetadata: {name: fleet}\nspec:\n  care: {${care}}\n`,
  );
  engine.commit();
  const inForce = engine.policy.get('', '')?.value ?? defaultFleetPolicy;
  return {
    blue: agentSettings(engine, 'blue', inForce).care?.webhookRemediator,
    green: agentSettings(engine, 'green', inForce).care?.webhookRemediator,
    findings: engineDiagnostics(engine).map(({ reason, at }) => `${reason} ${JSON.stringify(at[0]?.field)}`),
  };
}

it('the agent of a Shoot changes webhooks if FleetPolicy and RelayConfig allow it', () => {
  expect(remediators('webhookRemediatorEnabled: true', true)).toEqual({ blue: 'on', green: undefined, findings: [] });
  expect(remediators('webhookRemediatorEnabled: true, webhookRemediatorDryRun: true', true).blue).toBe('dryRun');
});

it.each([
  ['the FleetPolicy', 'webhookRemediatorDryRun: true', true, []],
  [
    'the RelayConfig',
    'webhookRemediatorEnabled: true',
    false,
    ['PolicyBounded ["spec","care","webhookRemediatorEnabled"]'],
  ],
] as const)('it changes none without the permission of %s', (_, care, isAllowed, findings) => {
  expect(remediators(care, isAllowed)).toEqual({ blue: undefined, green: undefined, findings });
});
