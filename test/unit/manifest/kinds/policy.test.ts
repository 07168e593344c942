import { describe, expect, it } from 'vitest';
import { defaultFleetPolicy } from '../../../../src/model/fleet-policy.ts';
import { complaints, contentOf } from '../../../support/decoding.ts';

const policy = (health: string): string =>
  `apiVersion: fleetrelay.dev/v1alpha1\nkind: FleetPolicy\nmetadata: {name: p}\nspec:\n  health: ${health}\n`;
const decoded = (health: string): unknown => {
  const content = contentOf(policy(health));
  return content.type === 'declaration' && content.kind === 'FleetPolicy' && content.value.health;
};

describe('the health of a FleetPolicy', () => {
  const { health } = defaultFleetPolicy;

  it('has the defaults for what it leaves out', () => {
    expect(decoded('{}')).toEqual(health);
    expect(decoded('{reportWaitSeconds: 0, injector: {failurePolicy: Ignore}}')).toEqual({
      ...health,
      reportWaitSeconds: 0,
      injector: { ...health.injector, failurePolicy: 'Ignore' },
    });
  });

  it('names sidecars and selects Pods', () => {
    expect(decoded('{sidecars: [a, b, a], podSelector: {matchLabels: {app.kind: proxied}}}')).toEqual({
      ...health,
      sidecars: ['a', 'b'],
      podSelector: { matchLabels: { 'app.kind': 'proxied' }, matchExpressions: [] },
    });
    expect(decoded('{sidecars: []}')).toMatchObject({ sidecars: [] });
  });

  it.each([
    [
      '{sidecars: [A]}',
      '5:23: error: spec.health.sidecars[0] does not have the right form, which is for example "kuma-sidecar"',
    ],
    [
      '{injector: {applicationProbeProxyPort: 65536}}',
      '5:50: error: spec.health.injector.applicationProbeProxyPort must be at most 65535',
    ],
    ['{injector: {virtualProbesPort: 0}}', '5:42: error: spec.health.injector.virtualProbesPort must be at least 1'],
    [
      '{injector: {failurePolicy: fail}}',
      '5:38: error: spec.health.injector.failurePolicy must be one of Fail, Ignore (did you mean Fail?)',
    ],
    ['{reportWaitSeconds: -1}', '5:31: error: spec.health.reportWaitSeconds must be at least 0'],
    ['{podSelector: {matchExpressions: [{key: a, operator: In}]}}', '5:45: error: the operator In needs values'],
  ])('refuses %s', (written, complaint) => {
    expect(complaints(policy(written))).toEqual([`a.yaml:${complaint}`]);
  });
});
