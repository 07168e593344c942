import { listenAddress, wholeNumber } from '../../../cli/arguments.ts';
import type { AgentCli } from '../../../cli/domain-cli.ts';
import type { ListenAddress } from '../../../server/listen-address.ts';
import type { WebhookSettings } from '../compose/webhook-settings.ts';
import { WEBHOOK_CONFIGURATION, WEBHOOK_SECRET, WEBHOOK_SERVICE } from '../model/webhook-names.ts';

interface Flags {
  readonly directory?: string;
  readonly webhook?: ListenAddress;
  readonly webhookImage?: string;
  readonly nativeSidecar?: boolean;
  readonly webhookConfiguration?: string;
  readonly webhookService?: string;
  readonly webhookSecret?: string;
  readonly webhookCertFile?: string;
  readonly webhookKeyFile?: string;
  readonly webhookCaFile?: string;
  readonly webhookCaLife?: number;
}

const CA_LIFE_SECONDS = 365 * 24 * 60 * 60;

const NOTES = `With --webhook every replica rewrites the probes of Pods as they are created, as
\`fleetrelay inject\` does: of Pods with the label fleetrelay.dev/probe-proxy: enabled,
and of Pods in Namespaces with it; "disabled" on a Pod wins. The FleetPolicy has the
settings (health.injector). Certificates are made by the agent, kept in a Secret
and renewed, or read from files. The MutatingWebhookConfiguration must exist;
the agent sets its caBundle and failurePolicy, and sets them back when others change
them. \`--webhook-cert-file\` leaves caBundle to others, unless --webhook-ca-file
is given.`;

/** The options of `fleetrelay agent` for the webhook that rewrites the probes of Pods. */
export const webhookOptions: AgentCli = {
  notes: NOTES,
  options: (command) =>
    command
      .option(
        '--webhook <address>',
        'PORT or HOST:PORT of the webhook that rewrites probes (default: none)',
        listenAddress,
      )
      .option('--webhook-image <image>', 'image of the probe proxy in Pods (default: the one of this version)')
      .option('--no-native-sidecar', 'add the probe proxy as a normal container, for Kubernetes before 1.29')
      .option(
        '--webhook-configuration <name>',
        `MutatingWebhookConfiguration of the webhook (default: ${WEBHOOK_CONFIGURATION})`,
      )
      .option('--webhook-service <name>', `Service of the webhook, for its certificate (default: ${WEBHOOK_SERVICE})`)
      .option('--webhook-secret <name>', `Secret that the replicas share (default: ${WEBHOOK_SECRET})`)
      .option(
        '--webhook-ca-life <seconds>',
        `life of the certificate authority that the agent makes (default: ${CA_LIFE_SECONDS}, a year)`,
        wholeNumber(20, 315_360_000),
      )
      .option('--webhook-cert-file <file>', 'certificate of the webhook that another program renews')
      .option('--webhook-key-file <file>', 'its key; both files are read again and again')
      .option('--webhook-ca-file <file>', 'its authority, which the agent writes into caBundle'),
  contradictions: (given) => {
    const {
      directory,
      webhook,
      webhookCertFile: certFile,
      webhookKeyFile: keyFile,
      webhookCaFile: caFile,
    }: Flags = given;
    return [
      [
        directory !== undefined && webhook !== undefined,
        '--directory and --webhook do not go together',
        'a folder has no API server that asks a webhook',
      ],
      [
        (certFile === undefined) !== (keyFile === undefined),
        '--webhook-cert-file and --webhook-key-file go together',
        'give both, or neither',
      ],
      [
        caFile !== undefined && certFile === undefined,
        '--webhook-ca-file needs --webhook-cert-file',
        'without a certificate from elsewhere the agent makes its own authority',
      ],
    ];
  },
  settings: (given) => settingsOf(given),
};

function settingsOf(flags: Flags): WebhookSettings | undefined {
  const { webhook: listen, webhookCertFile: certFile, webhookKeyFile: keyFile, webhookCaFile: caFile } = flags;
  if (listen === undefined) return undefined;
  return {
    listen,
    configuration: flags.webhookConfiguration ?? WEBHOOK_CONFIGURATION,
    service: flags.webhookService ?? WEBHOOK_SERVICE,
    secret: flags.webhookSecret ?? WEBHOOK_SECRET,
    image: flags.webhookImage,
    native: flags.nativeSidecar !== false,
    caLifeSeconds: flags.webhookCaLife ?? CA_LIFE_SECONDS,
    files: certFile === undefined || keyFile === undefined ? undefined : { certFile, keyFile, caFile },
  };
}
