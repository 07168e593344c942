import { isIP } from 'node:net';
import { ipAddress, logLevelOption, wholeNumber } from '../../../cli/arguments.ts';
import { type CliCommand, END_MS, newCommand, type ProcessContext, runIo } from '../../../cli/command.ts';
import { type ExitCode, refuseUsage } from '../../../cli/exit-codes.ts';
import type { LogLevel, RunIo, StopSignals } from '../../../compose/options.ts';
import type { ProbeProxyOptions } from '../compose/probe-proxy/probe-proxy.ts';

interface Flags {
  readonly port?: number;
  readonly podIp: string;
  readonly probes?: string;
  readonly virtualProbesPort?: number;
  readonly sourceAddress?: string;
  readonly logLevel: LogLevel;
}

const DEFAULT_PORT = 9001;

const NOTES = `
The kubelet asks this process instead of the application, by HTTP and without
mutual TLS: GET /8080/healthz asks the application at port 8080 for /healthz,
/tcp/5432 opens a connection to port 5432, /grpc/9090 asks grpc.health.v1.Health
at port 9090. \`fleetrelay inject\` writes such probes, and a container that runs
this command.

The answer is 200 HEALTHY; UNHEALTHY with the status of the application, or 503
if it does not answer; 503 UNKNOWN if the request is no probe, or none in the
file of --probes. Without that file every port of the Pod can be asked.

Headers of a probe:
  X-Kuma-Probes-Host          the Host that the application receives
  X-Kuma-Probes-Scheme        HTTPS: the application speaks HTTPS
  X-Kuma-Probes-Timeout       time limit in seconds, 1 without it
  X-Kuma-Probes-GRPC-Service  the service that is asked about

/ready answers READY, and TERMINATING for 5 seconds after SIGTERM, in which
probes are still answered; /metrics has the counts for Prometheus. Both are at
--port. At --virtual-probes-port there are the listed Virtual Probes only.`;

/** `fleetrelay probe-proxy`: serves the probes of one Pod. */
export function probeProxyCommand(
  context: ProcessContext,
  run: (options: ProbeProxyOptions, signals: StopSignals, io: RunIo) => Promise<number>,
): CliCommand {
  return newCommand('probe-proxy', context)
    .summary('answer the probes of a Pod for its applications; runs beside them')
    .description(
      'Answers liveness, readiness and startup probes of a Pod by asking its applications: HTTP, HTTPS, TCP and gRPC. Runs as a container of the Pod until stopped.',
    )
    .option(
      '--port <port>',
      `port that it listens on (default: ${DEFAULT_PORT}, none with --virtual-probes-port)`,
      anyPort,
    )
    .requiredOption('--pod-ip <address>', 'IP address of the Pod, at which its applications listen', ipAddress)
    .option(
      '--probes <file>',
      'JSON list of the probes that are passed on, as the annotation fleetrelay.dev/probes has it',
    )
    .option('--virtual-probes-port <port>', 'port of the Virtual Probes in the list', anyPort)
    .option(
      '--source-address <address>',
      'IP address that applications are asked from; 127.0.0.6 (::6 for IPv6) passes the transparent proxy of Kuma',
      ipAddress,
    )
    .addOption(logLevelOption())
    .addHelpText('after', NOTES)
    .examples([
      [
        'fleetrelay probe-proxy --pod-ip "$POD_IP" --probes /etc/fleetrelay/probes/probes.json',
        'the probes of one Pod',
      ],
      ['fleetrelay probe-proxy --port 9001 --pod-ip 127.0.0.1 &', 'every port of this machine; to try it out'],
      [
        'curl -H "X-Kuma-Probes-Timeout: 3" http://127.0.0.1:9001/8080/healthz',
        'a probe of the application at port 8080',
      ],
    ])
    .action(async (flags: Flags) => {
      const code = await run(toOptions(flags), context.stopSignals(END_MS), runIo(context));
      context.exit(code as ExitCode);
    });
}

const anyPort = wholeNumber(0, 65_535);

function toOptions(flags: Flags): ProbeProxyOptions {
  const { port, podIp, probes, virtualProbesPort, sourceAddress } = flags;
  refuseUsage([
    [
      virtualProbesPort !== undefined && probes === undefined,
      '--virtual-probes-port needs --probes',
      'only listed Virtual Probes are served',
    ],
    [
      sourceAddress !== undefined && isIP(sourceAddress) !== isIP(podIp),
      '--source-address and --pod-ip must both be IPv4 or both IPv6',
    ],
  ]);
  return { ...flags, port: port ?? (virtualProbesPort === undefined ? DEFAULT_PORT : undefined) };
}
