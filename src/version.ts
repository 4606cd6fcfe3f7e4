import manifest from '../package.json' with { type: 'json' }

export const version: string = manifest.version

/** How kubeherald introduces itself to API servers and sinks. */
export const userAgent = `kubeherald/${version}`
