import manifest from '../package.json' with { type: 'json' }

export const version: string = manifest.version

/** How kubeherald introduces itself to API servers and sinks. */
export const userAgent = `kubeherald/${version}`

/** The commit of the build; undefined when run from source, or if the build had no commit. */
export const commit: string | undefined = process.env['KUBEHERALD_COMMIT'] || undefined
