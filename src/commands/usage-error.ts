/** The user's mistake in arguments or configuration: told in one line, exit code 2. */
export class UsageError extends Error {
  override name = 'UsageError'
}
