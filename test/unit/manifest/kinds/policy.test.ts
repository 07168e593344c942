import { describe, expect, it } from 'vitest';
import { healthDefaults } from '../../../../src/domains/health/model/settings.ts';
import { createPolicyReader } from '../../../../src/manifest/kinds/policy.ts';
import { parseSettings, settingsText } from '../../../../src/model/agent/agent-settings.ts';
import { defaultFleetPolicy, settingsOfPolicy } from '../../../../src/model/fleet/fleet-policy.ts';
import { complaints, contentOf } from '../../../support/decoding.ts';

const policy = (health: string): string =>
  `apiVersion: fleetrelay.dev/v1alpha1\nkind: FleetPolicy\nmetadata: {name: p}\nspec:\n  health: ${health}\n`;
const decoded = (health: string): unknown => {
  const content = contentOf(policy(health));
  return content.type === 'declaration' && content.kind === 'FleetPolicy' && content.value.health;
};

describe('the health of a FleetPolicy', () => {
  it('has the defaults for what it leaves out', () => {
    expect(decoded('{}')).toEqual(healthDefaults);
    expect(decoded('{reportWaitSeconds: 0, injector: {failurePolicy: Ignore}}')).toEqual({
      ...healthDefaults,
      reportWaitSeconds: 0,
      injector: { ...healthDefaults.injector, failurePolicy: 'Ignore' },
    });
  });

  it('names sidecars and selects Pods', () => {
    expect(decoded('{sidecars: [a, b, a], podSelector: {matchLabels: {app.kind: proxied}}}')).toEqual({
      ...healthDefaults,
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

describe('the health checks of a FleetPolicy', () => {
  const checks = (list: string): string =>
    `apiVersion: fleetrelay.dev/v1alpha1\nkind: FleetPolicy\nmetadata: {name: p}\nspec:\n  healthChecks:\n${list}`;
  const thing = '    - {apiVersion: example.com/v1, kind: Thing, current: status.ready}\n';
  const job = '    - {apiVersion: v1, kind: Pod, current: status.ready, failed: status.broken}\n';

  it('are settings for agents, in the order of kinds', () => {
    const content = contentOf(checks(thing + job));
    const policy = content.type === 'declaration' && content.kind === 'FleetPolicy' ? content.value : undefined;
    const expected = [
      { apiVersion: 'v1', kind: 'Pod', current: 'status.ready', failed: 'status.broken' },
      { apiVersion: 'example.com/v1', kind: 'Thing', current: 'status.ready' },
    ];
    expect(policy?.healthChecks).toEqual(expected);
    const settings = settingsOfPolicy(policy ?? defaultFleetPolicy, {});
    expect(settings.healthChecks).toEqual(expected);
    expect(parseSettings(settingsText(settings))).toEqual({ ok: true, value: settings });
    expect('healthChecks' in settingsOfPolicy(defaultFleetPolicy, {})).toBe(false);
  });

  it.each([
    [
      thing + thing.replace('/v1', '/v2'),
      '7:42: error: spec.healthChecks has two entries for the kind example.com/Thing, and only one of them can count (join their expressions with || in one entry)',
    ],
    [thing.replace('current', 'failed'), '6:7: error: spec.healthChecks[0].current is missing'],
    [
      thing.replace('example.com/v1', 'Example'),
      '6:20: error: spec.healthChecks[0].apiVersion does not have the right form, which is for example "example.com/v1"',
    ],
  ])('refuses %s', (list, complaint) => {
    expect(complaints(checks(list))).toEqual([expect.stringContaining(`a.yaml:${complaint}`)]);
  });
});

describe('the reader of a FleetPolicy is not made', () => {
  const health = () => healthDefaults;
  const forAgents = { injector: () => healthDefaults.injector };

  it.each([
    ['a section of the core', { red: { policy: { guards: () => defaultFleetPolicy.guards } } }, 'fleetrelay and red'],
    ['one section of two domains', { red: { policy: { health } }, blue: { policy: { health } } }, 'red and blue'],
    [
      'one member that two domains tell agents',
      { red: { section: { name: 'red', forAgents } }, blue: { section: { name: 'blue', forAgents } } },
      'red and blue',
    ],
  ])('with %s', (_what, domains, owners) => {
    expect(() => createPolicyReader(Object.entries(domains).map(([name, row]) => ({ name, ...row })))).toThrow(owners);
  });
});
