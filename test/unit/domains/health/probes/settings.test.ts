import { describe, expect, it } from 'vitest';
import { type ProbeSettings, settingsOfPod } from '../../../../../src/domains/health/probes/settings.ts';
import type { JsonObject } from '../../../../../src/model/text/json.ts';
import { DEFAULTS } from './support.ts';

const APP = 'kuma.io/application-probe-proxy-port';
const VP = 'kuma.io/virtual-probes';
const VP_PORT = 'kuma.io/virtual-probes-port';
const GATEWAY = 'kuma.io/gateway';

/** `proxy:9001`, `virtual:9000` or `none`, and the annotations that are written back. */
function effective(annotations: JsonObject | undefined, over: Partial<ProbeSettings> = {}): readonly string[] {
  const found = settingsOfPod({ annotations }, { ...DEFAULTS, ...over });
  if (!found.ok) return [`${found.annotation}: ${found.message}`];
  const { mode, annotations: written } = found;
  return [mode.type === 'none' ? mode.type : `${mode.type}:${mode.port}`, ...Object.values(written)];
}

const noProxy = { applicationProbeProxyPort: 0 };
const virtual = { virtualProbesEnabled: true };

describe('effective settings of a Pod', () => {
  it.each<[string, JsonObject | undefined, Partial<ProbeSettings>, readonly string[]]>([
    ['the defaults', undefined, {}, ['proxy:9001', '9001', 'disabled', '9000']],
    [
      'other defaults',
      {},
      { ...virtual, applicationProbeProxyPort: 1, virtualProbesPort: 2 },
      ['proxy:1', '1', 'enabled', '2'],
    ],
    ['all annotations', { [APP]: '7', [VP]: 'yes', [VP_PORT]: '8' }, {}, ['proxy:7', '7', 'enabled', '8']],
    [
      'disabled Virtual Probes do not switch the proxy off',
      { [VP]: 'disabled' },
      {},
      ['proxy:9001', '9001', 'disabled', '9000'],
    ],
    [
      'a Pod that turns the proxy off falls back to Virtual Probes',
      { [APP]: '0' },
      {},
      ['virtual:9000', '0', 'enabled', '9000'],
    ],
    ['unless it turns these off, too', { [APP]: '0', [VP]: 'disabled' }, {}, ['none', '0', 'disabled', '9000']],
    ['also against the settings', { [APP]: '0', [VP]: 'no' }, virtual, ['none', '0', 'disabled', '9000']],
    ['settings without proxy and Virtual Probes', undefined, noProxy, ['none', '0', 'disabled', '9000']],
    [
      'settings without proxy, with Virtual Probes',
      {},
      { ...noProxy, ...virtual },
      ['virtual:9000', '0', 'enabled', '9000'],
    ],
    [
      'settings without proxy; the Pod wants Virtual Probes',
      { [VP]: 'true' },
      noProxy,
      ['virtual:9000', '0', 'enabled', '9000'],
    ],
    [
      'settings without proxy; the Pod wants none',
      { [VP]: 'false' },
      { ...noProxy, ...virtual },
      ['none', '0', 'disabled', '9000'],
    ],
    [
      'settings without proxy; the Pod wants it',
      { [APP]: '9002' },
      noProxy,
      ['proxy:9002', '9002', 'disabled', '9000'],
    ],
    ['leading zeros', { [APP]: '09002' }, {}, ['proxy:9002', '9002', 'disabled', '9000']],
    ['texts without quotes in a file', { [APP]: 0, [VP]: true }, {}, ['virtual:9000', '0', 'enabled', '9000']],
    ['a gateway', { [GATEWAY]: 'enabled' }, virtual, ['none', '0', 'disabled', '9000']],
    [
      'a gateway of any form',
      { [GATEWAY]: 'provided', [APP]: '0' },
      { ...noProxy, ...virtual },
      ['none', '0', 'disabled', '9000'],
    ],
    [
      'a gateway that wants the proxy',
      { [GATEWAY]: 'enabled', [APP]: '9001' },
      {},
      [`${APP}: application probe proxies probes can't be enabled in gateway mode`],
    ],
    [
      'a gateway that wants Virtual Probes',
      { [GATEWAY]: 'enabled', [VP]: 'enabled' },
      {},
      [`${VP}: virtual probes can't be enabled in gateway mode`],
    ],
    [
      'Virtual Probes at port 0',
      { [APP]: '0', [VP_PORT]: '0' },
      {},
      [`${VP_PORT}: annotation "${VP_PORT}" has wrong value "0"`],
    ],
    ['port 0 of Virtual Probes that are not used', { [VP_PORT]: '0' }, {}, ['proxy:9001', '9001', 'disabled', '0']],
  ])('%s', (_, annotations, over, expected) => {
    expect(effective(annotations, over)).toEqual(expected);
  });

  it.each(['true', 'yes', 'enabled'])('%s is true', (value) => {
    expect(effective({ [VP]: value })[2]).toBe('enabled');
  });

  it.each(['false', 'no', 'disabled'])('%s is false', (value) => {
    expect(effective({ [VP]: value }, virtual)[2]).toBe('disabled');
  });

  it.each([
    [VP, 'maybe'],
    [VP, ''],
    [VP, 'Enabled'],
    [APP, 'x'],
    [APP, ''],
    [APP, '-1'],
    [APP, '+1'],
    [APP, '1.0'],
    [APP, '65536'],
    [VP_PORT, '9000 '],
  ])('%s: "%s" is refused', (annotation, value) => {
    expect(effective({ [annotation]: value })).toEqual([
      `${annotation}: annotation "${annotation}" has wrong value "${value}"`,
    ]);
  });
});
