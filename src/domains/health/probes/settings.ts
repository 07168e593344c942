import { type JsonObject, type JsonValue, objectOf } from '../../../model/text/json.ts';
import type { InjectorSettings } from '../model/injector-settings.ts';
import { portOf } from './target.ts';

/** Annotations of a Pod that override the settings; the effective values are written back into them. */
export const PROXY_PORT_ANNOTATION = 'kuma.io/application-probe-proxy-port';
export const VIRTUAL_PROBES_ANNOTATION = 'kuma.io/virtual-probes';
export const VIRTUAL_PROBES_PORT_ANNOTATION = 'kuma.io/virtual-probes-port';
/** With any value: the Pod is a gateway. */
const GATEWAY_ANNOTATION = 'kuma.io/gateway';

/** The settings of probes for Pods whose annotations do not override them. */
export type ProbeSettings = Omit<InjectorSettings, 'failurePolicy'>;

/** How the probes of one Pod are rewritten. */
export type ProbeMode =
  /** All probes but `exec` go to the Application Probe Proxy at the port. */
  | { readonly type: 'proxy'; readonly port: number }
  /** `httpGet` probes become Virtual Probes at the port. */
  | { readonly type: 'virtual'; readonly port: number }
  /** Probes stay as they are. */
  | { readonly type: 'none' };

/** The settings of one Pod: its mode and the annotations that say so, or why the Pod is refused. */
export type PodSettings =
  | { readonly ok: true; readonly mode: ProbeMode; readonly annotations: Readonly<Record<string, string>> }
  | { readonly ok: false; readonly annotation: string; readonly message: string };

const TRUE = ['true', 'yes', 'enabled'];
const FALSE = ['false', 'no', 'disabled'];

/** Reads the settings of a Pod: its annotations, else the defaults. `metadata`: of the Pod or Pod template. */
export function settingsOfPod(metadata: JsonValue | undefined, defaults: ProbeSettings): PodSettings {
  const annotations = objectOf(objectOf(metadata).annotations);
  const virtualProbes = read(annotations, VIRTUAL_PROBES_ANNOTATION, booleanOf);
  if (!virtualProbes.ok) return virtualProbes;
  const virtualPort = read(annotations, VIRTUAL_PROBES_PORT_ANNOTATION, portOf);
  if (!virtualPort.ok) return virtualPort;
  const proxyPort = read(annotations, PROXY_PORT_ANNOTATION, portOf);
  if (!proxyPort.ok) return proxyPort;
  const port = virtualPort.value ?? defaults.virtualProbesPort;
  if (annotations[GATEWAY_ANNOTATION] !== undefined) {
    if ((proxyPort.value ?? 0) > 0) {
      return refused(PROXY_PORT_ANNOTATION, "application probe proxies probes can't be enabled in gateway mode");
    }
    if (virtualProbes.value === true) {
      return refused(VIRTUAL_PROBES_ANNOTATION, "virtual probes can't be enabled in gateway mode");
    }
    return effective(0, false, port);
  }
  // A Pod that turns the proxy off gets Virtual Probes, unless it turns these off as well.
  const fallsBack = proxyPort.value === 0 && virtualProbes.value !== false;
  const isVirtual = fallsBack || (virtualProbes.value ?? defaults.virtualProbesEnabled);
  return effective(proxyPort.value ?? defaults.applicationProbeProxyPort, isVirtual, port);
}

function effective(proxyPort: number, isVirtual: boolean, virtualPort: number): PodSettings {
  if (proxyPort === 0 && isVirtual && virtualPort === 0) {
    return wrongValue(VIRTUAL_PROBES_PORT_ANNOTATION, '0');
  }
  const mode: ProbeMode =
    proxyPort > 0
      ? { type: 'proxy', port: proxyPort }
      : isVirtual
        ? { type: 'virtual', port: virtualPort }
        : { type: 'none' };
  return {
    ok: true,
    mode,
    annotations: {
      [PROXY_PORT_ANNOTATION]: String(proxyPort),
      [VIRTUAL_PROBES_ANNOTATION]: isVirtual ? 'enabled' : 'disabled',
      [VIRTUAL_PROBES_PORT_ANNOTATION]: String(virtualPort),
    },
  };
}

type Refusal = Extract<PodSettings, { readonly ok: false }>;

/** Reads one annotation; an undefined value: the Pod does not have it. */
function read<Value>(
  annotations: JsonObject,
  annotation: string,
  parse: (text: string) => Value | undefined,
): { readonly ok: true; readonly value: Value | undefined } | Refusal {
  const written = annotations[annotation];
  if (written === undefined) return { ok: true, value: undefined };
  // An API server accepts texts only; in a file an unquoted `true` or 9001 is meant as one.
  const text = typeof written === 'object' ? '' : String(written);
  const value = parse(text);
  return value === undefined ? wrongValue(annotation, text) : { ok: true, value };
}

function booleanOf(text: string): boolean | undefined {
  return TRUE.includes(text) ? true : FALSE.includes(text) ? false : undefined;
}

function wrongValue(annotation: string, text: string): Refusal {
  return refused(annotation, `annotation "${annotation}" has wrong value "${text}"`);
}

function refused(annotation: string, message: string): Refusal {
  return { ok: false, annotation, message };
}
