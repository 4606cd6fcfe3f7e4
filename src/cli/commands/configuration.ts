import { type Command, Option } from 'commander'
import { allSinks, DEFAULT_SINK } from '../../sink-types.ts'
import { CONTEXT, configurable, type Exit, printsData, withoutPlugins } from './options.ts'

export function describeConfiguration(program: Command, exit: Exit): void {
  describeInit(program, exit)
  printsData(withoutPlugins(configurable(program.command('check'))))
    .description(
      'report all problems of the configuration, the watches it would start, and missing permissions',
    )
    .option(...CONTEXT)
    .option('--offline', 'ask neither cluster, Redis nor sinks, and do without secrets that are not here')
    .option('--strict', 'warnings are failures: exit code 1')
    .addHelpText('after', CHECK_HELP)
    .action(async (options) => exit(await (await import('../check/check.ts')).check(options)))
  describeShow(program, exit)
  program
    .command('schema')
    .description('print the JSON Schema of the configuration, for editors')
    .option('--included', 'of files that a configuration includes')
    .addOption(new Option('--api', 'the OpenAPI document of the HTTP API instead').conflicts('included'))
    .addHelpText('after', SCHEMA_HELP)
    .action(async (options) => exit(await (await import('../schema.ts')).printSchema(options)))
  describeRbac(program, exit)
}

const CHECK_HELP = `
Exit codes: 0 good, perhaps with warnings; 1 with --strict when there are warnings, or when the cluster cannot be asked;
2 when the configuration or an argument is wrong, or the cluster refuses what it needs.

Examples:
  kubeherald check --offline --strict                 in CI
  kubeherald check -o json | jq '.problems[]'         for other programs
`

const SCHEMA_HELP = `
Editors with the YAML language server complete and explain by it, when the first line of a configuration is
# yaml-language-server: $schema=PATH-OR-URL

Examples:
  kubeherald schema > kubeherald.schema.json
  kubeherald schema --included > included.schema.json
  kubeherald schema --api > openapi.json
`

function describeShow(program: Command, exit: Exit): void {
  const group = program.command('config').description('show the configuration as kubeherald reads it')
  withoutPlugins(configurable(group.command('show')))
    .description('print it with the files that it includes; secrets are hidden')
    .option('--defaults', 'also keys that are not written, with the values that the schema gives them')
    .addOption(
      new Option('-o, --output <format>', 'the same data in either')
        .choices(['yaml', 'json'])
        .default('yaml'),
    )
    .addHelpText('after', SHOW_HELP)
    .action(async (options) => exit(await (await import('../config/show.ts')).showConfig(options)))

  printsData(withoutPlugins(configurable(program.command('routes'))))
    .description('show which rule sends to which sink, under which conditions')
    .option('--rule <name>', 'this rule alone')
    .option('--sink <name>', 'only rules that send to this sink')
    .addHelpText('after', ROUTES_HELP)
    .action(async (options) => exit(await (await import('../config/routes.ts')).routes(options)))
}

const SHOW_HELP = `
Rules and watches of all files are in one list, with the defaults of their files and with variables filled in.
References such as \${env:TOKEN} stay as they are written; secrets that are written out are ***. It needs no secrets.

Examples:
  kubeherald config show                           what kubeherald reads
  kubeherald config show --defaults -o json        for other programs
`

const ROUTES_HELP = `
Rules are evaluated from top to bottom. One event reaches one sink once: the first rule that names the sink applies.
It needs neither a cluster nor secrets. "kubeherald explain" evaluates the rules for one object.

Examples:
  kubeherald routes
  kubeherald routes --sink oncall                  what can reach the channel
`

function describeRbac(program: Command, exit: Exit): void {
  configurable(program.command('rbac'))
    .description('print the permissions in Kubernetes that the configuration needs, and no others')
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
    .option(...CONTEXT)
    .option('--offline', "don't ask the cluster what a kind is")
    .addHelpText('after', RBAC_HELP)
    .action(async (options) => exit(await (await import('../rbac/rbac.ts')).rbac(options)))
}

const RBAC_HELP = `
A permission is granted in a namespace where "watch" lists namespaces by name, else in all of them; of one object where "fields"
names it (metadata.name=...). It reads "watch", "rules", templates of "sinks", "enrich" and "leases", and needs no secrets. It asks
the cluster only what a custom kind is that is not written as plural.group. "kubeherald check" lists missing permissions.

Examples:
  kubeherald rbac                                     look at them
  kubeherald rbac | kubectl apply -f -                give them to the service account kubeherald in kubeherald
  kubeherald rbac --service-account ops/herald        to another one
  kubeherald rbac --format values > permissions.yaml       for helm install -f permissions.yaml
`

function describeInit(program: Command, exit: Exit): void {
  program
    .command('init')
    .description('write a configuration for the cluster to begin with, and the permissions that it needs')
    .option('-o, --output <file>', 'where to; "-" prints it', 'kubeherald.yaml')
    .addOption(
      new Option('--sink <type>', 'where it sends to').choices(Object.keys(allSinks)).default(DEFAULT_SINK),
    )
    .option('--force', 'write over files that are there')
    .option(...CONTEXT)
    .option('--offline', 'without a cluster')
    .addHelpText('after', INIT_HELP)
    .action(async (options) => exit(await (await import('../init/init.ts')).init(options)))

  program
    .command('import [tool] [file]')
    .description('make a configuration of one of kubernetes-event-exporter, kubewatch or botkube')
    .addHelpText('after', IMPORT_HELP)
    .action(async (tool, file) =>
      exit(await (await import('../import/import.ts')).importConfiguration(tool, file)),
    )
}

const INIT_HELP = `
It reads which kinds there are, how many nodes, pods and namespaces, and how namespaces are labelled: five small requests.

Examples:
  kubeherald init                       kubeherald.yaml and kubeherald-rbac.yaml, for the current cluster
  kubeherald init --sink slack          to a channel: SLACK_TOKEN holds the token
  kubeherald init --output -            only look at it
`

const IMPORT_HELP = `
Reads a plain configuration, Helm values, and ConfigMaps, Secrets, HelmReleases and Applications that contain one, in one document or
several. Without a file it reads standard input; without a tool it finds out which one it is.

No rule sends more than its source did: a rule with a filter that kubeherald does not have is disabled, as is a sink that
it does not have; both are comments with the reason. Each setting that is not carried over has a comment, and \${env:NAME}
replaces each secret. Exit code 0 when no rule and no sink is disabled, 3 when one is, 2 for a file that is not a configuration.

Examples:
  kubeherald import config.yaml > kubeherald.yaml
  kubectl get configmap event-exporter-cfg -o yaml | kubeherald import kubernetes-event-exporter
  helm get values --all -o yaml kubewatch | kubeherald import kubewatch > kubeherald.yaml
  kubectl -n botkube get configmap,secret -o yaml | kubeherald import botkube > kubeherald.yaml
  npm start --silent -- import botkube values.yaml > kubeherald.yaml    in a clone: without --silent npm writes two lines, too
`
