import { InvalidArgumentError, Option } from 'commander';
import { wholeNumber } from '../../../cli/arguments.ts';
import { type CliCommand, newCommand, type ProcessContext } from '../../../cli/command.ts';
import { CliError, EXIT } from '../../../cli/exit-codes.ts';
import { lazy } from '../../../cli/lazy.ts';
import { styled, type TextOutput, toneOf, writeDiagnostics } from '../../../cli/output.ts';
import { displayLocation } from '../../../model/fleet/diagnostic.ts';
import { printable } from '../../../model/text/printable.ts';
import { healthDefaults } from '../model/settings.ts';
import type { ProbeSettings } from '../probes/settings.ts';

interface Flags extends Partial<ProbeSettings> {
  readonly filename: string;
  readonly nativeSidecar: boolean;
  readonly image?: string;
}

const NOTES = `
Settings come from the flags, else from the variables
KUMA_RUNTIME_KUBERNETES_APPLICATION_PROBE_PROXY_PORT,
KUMA_RUNTIME_KUBERNETES_VIRTUAL_PROBES_ENABLED and
KUMA_RUNTIME_KUBERNETES_VIRTUAL_PROBES_PORT, else they are the defaults of a
FleetPolicy. Annotations of a Pod override them:
  kuma.io/application-probe-proxy-port  another port; "0" turns the proxy off
  kuma.io/virtual-probes                with port "0": enabled (the default) or
                                        disabled, which leaves the probes alone
  kuma.io/virtual-probes-port           another port of Virtual Probes

Probes by httpGet, tcpSocket and grpc are rewritten to go to the container
${'`fleetrelay-probe-proxy`'}, which asks the application in turn; exec and lifecycle
hooks stay as they are. A Pod with the label fleetrelay.dev/probe-proxy: disabled,
or with a container kuma-sidecar or fleetrelay-probe-proxy, is printed as it is,
and so is every document without Pods. Comments stay; where a Pod was changed, the
layout of its document may change.

If a Pod is refused, nothing is printed and the exit code is 1.`;

const injectManifests = lazy(async () => (await import('../compose/inject/inject.ts')).injectManifests);

/** `fleetrelay inject -f FILE`: manifests with rewritten probes. Exit code 1 if a Pod is refused. */
export function injectCommand(context: ProcessContext, inject = injectManifests): CliCommand {
  const { applicationProbeProxyPort, virtualProbesEnabled, virtualProbesPort } = healthDefaults.injector;
  return newCommand('inject', context)
    .summary('rewrite the probes of Pods in manifests, as the webhook does')
    .description(
      'Prints manifests whose Pods and Pod templates are as the webhook admits them: their probes go to a probe proxy, which is added as a sidecar, so that they work in a mesh with mutual TLS.',
    )
    .requiredOption('-f, --filename <file>', 'manifests, YAML or JSON; - is standard input')
    .option(
      '--application-probe-proxy-port <port>',
      `port of the probe proxy; 0 turns it off (default: ${applicationProbeProxyPort})`,
      wholeNumber(0, 65_535),
    )
    .addOption(
      truth(
        '--virtual-probes-enabled [boolean]',
        `Virtual Probes where the proxy is off (default: ${virtualProbesEnabled})`,
      ),
    )
    .option(
      '--virtual-probes-port <port>',
      `port of Virtual Probes (default: ${virtualProbesPort})`,
      wholeNumber(1, 65_535),
    )
    .addOption(
      truth(
        '--native-sidecar [boolean]',
        'the proxy is an init container that restarts always; false: a normal container, for Kubernetes before 1.29',
      ).default(true),
    )
    .option('--image <image>', 'image of the probe proxy (default: the one of this version)')
    .addHelpText('after', NOTES)
    .examples([
      ['fleetrelay inject -f deployment.yaml | kubectl apply -f -', 'apply with rewritten probes'],
      ['kustomize build . | fleetrelay inject -f -', 'standard input'],
      ['fleetrelay inject -f app.yaml | diff app.yaml -', 'what it changes'],
      [
        'fleetrelay inject -f app.yaml --image registry.example.com/fleetrelay:1.0.0 --application-probe-proxy-port 9101',
        'another image and port',
      ],
    ])
    .action(async (flags: Flags) => {
      const { cwd, readStdin, stdout, stderr, version } = context;
      const { filename: file, nativeSidecar: native, image = `fleetrelay:${version}` } = flags;
      const settings = settingsOf(flags, context.env);
      const request = { file, cwd, readStdin, settings, container: { image, native } };
      const { text, diagnostics, findings } = await inject(request);
      writeDiagnostics(stderr, diagnostics);
      for (const { severity, message, at } of findings) {
        writeLine(stderr, displayLocation(at), severity, message);
      }
      if (text !== undefined) stdout.write(text);
      context.exit(text === undefined ? EXIT.notWell : EXIT.ok);
    });
}

function writeLine(out: TextOutput, place: string, severity: string, message: string): void {
  const where = styled(out, 'strong', printable(place));
  out.write(`${where}: ${styled(out, toneOf(severity), severity)}: ${printable(message)}\n`);
}

/** An option that is true without a value. */
function truth(flags: string, meaning: string): Option {
  return new Option(flags, meaning).preset(true).argParser((text: string | true) => {
    const value = text === true ? true : booleanOf(text);
    if (value === undefined) throw new InvalidArgumentError('It must be true or false.');
    return value;
  });
}

/** As Go reads a boolean. */
function booleanOf(text: string): boolean | undefined {
  if (/^(?:1|t|T|TRUE|true|True)$/.test(text)) return true;
  return /^(?:0|f|F|FALSE|false|False)$/.test(text) ? false : undefined;
}

function settingsOf(flags: Flags, env: ProcessContext['env']): ProbeSettings {
  const { applicationProbeProxyPort, virtualProbesEnabled, virtualProbesPort } = healthDefaults.injector;
  const port = (least: number) => (text: string) => {
    const value = Number(text);
    return /^\d+$/.test(text) && value >= least && value <= 65_535 ? value : undefined;
  };
  const from = <Value>(name: string, parse: (text: string) => Value | undefined, form: string): Value | undefined => {
    const variable = `KUMA_RUNTIME_KUBERNETES_${name}`;
    const text = env[variable] ?? '';
    const value = text === '' ? undefined : parse(text);
    if (text !== '' && value === undefined) throw new CliError(EXIT.usage, `${variable} must be ${form}`);
    return value;
  };
  return {
    applicationProbeProxyPort:
      flags.applicationProbeProxyPort ??
      from('APPLICATION_PROBE_PROXY_PORT', port(0), 'a port, or 0') ??
      applicationProbeProxyPort,
    virtualProbesEnabled:
      flags.virtualProbesEnabled ?? from('VIRTUAL_PROBES_ENABLED', booleanOf, 'true or false') ?? virtualProbesEnabled,
    virtualProbesPort: flags.virtualProbesPort ?? from('VIRTUAL_PROBES_PORT', port(1), 'a port') ?? virtualProbesPort,
  };
}
