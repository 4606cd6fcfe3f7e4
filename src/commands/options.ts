import { type Command, InvalidArgumentError } from 'commander'

/** Takes the exit code of a command. */
export type Exit = (code: number) => void

/** Says which configuration is meant, and where the private Redis lies. */
export function common(command: Command): Command {
  return stateful(configurable(command))
}

/** Looks where `run` with the same arguments puts its data. */
export function ofQueue(command: Command): Command {
  return common(command)
    .option('--context <name>', 'as given to run; not needed when the configuration has cluster:')
    .option('--demo', 'of the demo that runs')
}

/** Says which configuration is meant. */
export function configurable(command: Command): Command {
  return command.option(
    '-c, --config <file>',
    'default: $KUBEHERALD_CONFIG, else ./kubeherald.yaml; "-" is standard input',
  )
}

/** Plug-ins are code: they can be turned off. */
export function withoutPlugins(command: Command): Command {
  return command.option(
    '--no-plugins',
    'refuse a configuration with plugins:, which are code; also $KUBEHERALD_NO_PLUGINS=1',
  )
}

/** Says where the private Redis lies. */
export function stateful(command: Command): Command {
  return command.option(
    '--state-dir <dir>',
    'where the private Redis keeps its data; default: $XDG_STATE_HOME/kubeherald',
  )
}

/** From 1; throws what commander tells. */
export function wholeNumber(text: string): number {
  const value = Number(text)
  if (!Number.isInteger(value) || value < 1) throw new InvalidArgumentError('Give a whole number from 1.')
  return value
}
