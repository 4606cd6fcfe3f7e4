import { type Command, Option } from 'commander'
import { configurable, type Exit } from '../options.ts'

/** rbac. */
export function describeRbac(program: Command, exit: Exit): void {
  configurable(program.command('rbac'))
    .description('print the rights in Kubernetes that the configuration needs, and no others')
    .option(
      '--service-account <namespace/name>',
      'who gets them; default: kubeherald in $POD_NAMESPACE, else kubeherald/kubeherald',
    )
    .option('--name <name>', 'of the roles and bindings', 'kubeherald')
    .addOption(
      new Option('--format <format>', 'manifests for kubectl, or values for the Helm chart')
        .choices(['yaml', 'values'])
        .default('yaml'),
    )
    .option('--context <name>', 'context of the kubeconfig')
    .option('--offline', "don't ask the cluster what a kind is")
    .addHelpText('after', RBAC_HELP)
    .action(async (options) => exit(await (await import('./rbac.ts')).rbac(options)))
}

const RBAC_HELP = `
A right is given in a namespace where "watch" lists namespaces by name, else in all of them; of one object where "fields"
names it (metadata.name=...). It reads "watch" and "leases" of the configuration, so it needs no secrets, and asks the
cluster only what a custom kind is that is not written as plural.group. "kubeherald check" tells which rights are missing.

Examples:
  kubeherald rbac                                     look at them
  kubeherald rbac | kubectl apply -f -                give them to the service account kubeherald in kubeherald
  kubeherald rbac --service-account ops/herald        to another one
  kubeherald rbac --format values > rights.yaml       for helm install -f rights.yaml
`
