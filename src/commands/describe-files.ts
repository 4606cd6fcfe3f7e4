import { type Command, Option } from 'commander'
import type { Exit } from './options.ts'

/** schema. */
export function describeSchema(program: Command, exit: Exit): void {
  program
    .command('schema')
    .description('print the JSON Schema of the configuration, for editors')
    .option('--included', 'of files that a configuration includes')
    .addHelpText('after', SCHEMA_HELP)
    .action(async (options) => exit(await (await import('./schema.ts')).printSchema(options)))
}

/** Commands that make a configuration: init and import. */
export function describeBeginnings(program: Command, exit: Exit): void {
  program
    .command('init')
    .description('look at the cluster and write a configuration to begin with, and the rights that it needs')
    .option('-o, --output <file>', 'where to; "-" prints it', 'kubeherald.yaml')
    .addOption(
      new Option('--sink <type>', 'where it sends to')
        .choices(['stdout', 'slack', 'webhook', 'kafka'])
        .default('stdout'),
    )
    .option('--force', 'write over files that are there')
    .option('--context <name>', 'context of the kubeconfig')
    .option('--offline', "don't look at a cluster")
    .addHelpText('after', INIT_HELP)
    .action(async (options) => exit(await (await import('./init.ts')).init(options)))

  program
    .command('import <tool> [file]')
    .description('make a configuration of one of kubernetes-event-exporter, kubewatch or botkube')
    .addHelpText('after', IMPORT_HELP)
    .action(async (tool, file = '-') =>
      exit(await (await import('./import.ts')).importConfiguration(tool, file)),
    )
}

const SCHEMA_HELP = `
Editors with the YAML language server complete and explain by it, when the first line of a configuration is
# yaml-language-server: $schema=PATH-OR-URL

Examples:
  kubeherald schema > kubeherald.schema.json
  kubeherald schema --included > included.schema.json
`

const INIT_HELP = `
It reads which kinds there are, how many nodes, pods and namespaces, and how namespaces are labelled: five small requests.

Examples:
  kubeherald init                       kubeherald.yaml and kubeherald-rbac.yaml, for the current cluster
  kubeherald init --sink slack          to a channel: SLACK_TOKEN holds the token
  kubeherald init --output -            only look at it
`

const IMPORT_HELP = `
Prints it; what could not be carried over stands in comments. A ConfigMap around the file is taken off, and a secret in it
is not written: \${env:NAME} stands for it. Without a file it reads standard input.

Examples:
  kubeherald import kubernetes-event-exporter config.yaml > kubeherald.yaml
  kubectl get configmap event-exporter-cfg -o yaml | kubeherald import kubernetes-event-exporter
  kubeherald import botkube values.yaml > kubeherald.yaml
  npm start --silent -- import botkube values.yaml > kubeherald.yaml    in a clone: without --silent npm writes two lines, too
`
