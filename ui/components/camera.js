// Tells Python the camera in the address, where it does not know it.
const cameraNow = () => new URL(location.href).searchParams.get('camera') ?? '';

export default function ({ data: [{ camera }], setStateValue }) {
  if (cameraNow() !== camera) setStateValue('camera', cameraNow());
}
