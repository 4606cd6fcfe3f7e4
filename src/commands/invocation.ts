/** How the user calls the program: in a clone through npm, elsewhere by its name. */
export function invocation(env: NodeJS.ProcessEnv): string {
  return env['npm_lifecycle_event'] === 'start' ? 'npm start --' : 'kubeherald'
}
