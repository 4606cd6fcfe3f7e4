import { Argument, type Command } from 'commander'
import { type Exit, printsData } from './options.ts'

export function describeShell(program: Command, exit: Exit): void {
  program
    .command('completion')
    .addArgument(new Argument('<shell>').choices(['bash', 'zsh', 'fish']))
    .description('print a script that completes commands and options in a shell')
    .addHelpText('after', COMPLETION_HELP)
    .action(async (shell) =>
      exit((await import('../completion/completion.ts')).printCompletion(program, shell)),
    )
  printsData(program.command('version'))
    .description('print the version of kubeherald and of Node, and the commit')
    .action(async (options) => exit((await import('../version-report.ts')).printVersion(options)))
}

const COMPLETION_HELP = `
Load it in each new shell, so that it is always that of the installed version:

  bash    echo 'source <(kubeherald completion bash)' >> ~/.bashrc
  zsh     echo 'source <(kubeherald completion zsh)' >> ~/.zshrc       after compinit
  fish    kubeherald completion fish > ~/.config/fish/completions/kubeherald.fish

bash 3.2, that of macOS, cannot read it from <(...): write it into a file and source that.
`
