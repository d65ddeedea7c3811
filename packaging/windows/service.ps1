<#
.SYNOPSIS
Makes greeksd a service that starts with Windows, or takes it away. For an administrator.

.DESCRIPTION
The program goes to C:\Program Files\greeksd. The service runs as an account of its own (NT SERVICE\greeksd) that may write to
C:\ProgramData\greeksd alone: greeksd.toml has its options, greeksd.log its log, state what survives a restart. The service is
started again when it fails. It runs the build that this processor can run: after a change of processor run the script again.

    Start-Service greeksd    Stop-Service greeksd    Restart-Service greeksd (after a change of greeksd.toml)

.PARAMETER Uninstall
Takes the service and the program away. C:\ProgramData\greeksd stays.

.EXAMPLE
powershell -ExecutionPolicy Bypass -File service.ps1
#>
[CmdletBinding()]
param([switch] $Uninstall)
$ErrorActionPreference = 'Stop'
Set-StrictMode -Version 2

$name = 'greeksd'
$program = Join-Path $env:ProgramFiles 'greeksd'
$data = Join-Path $env:ProgramData 'greeksd'

function Invoke-Checked([string] $Tool) {
    & $Tool @args | Out-Null
    if ($LASTEXITCODE -ne 0) { throw "$Tool $($args -join ' '): exit code $LASTEXITCODE" }
}

# Any user may make folders in ProgramData, and whoever has made one decides what is in it: what the service runs too.
function Assert-OfAdministrators([string] $Path) {
    if ((Get-Item -LiteralPath $Path -Force).Attributes -band [IO.FileAttributes]::ReparsePoint) { throw "$Path is a link" }
    $owner = (Get-Acl -LiteralPath $Path).GetOwner([Security.Principal.SecurityIdentifier]).Value
    if ($owner -notin 'S-1-5-32-544', 'S-1-5-18') {
        throw "$Path belongs to $owner, not to the administrators: look at it, and move it away"
    }
}

# Administrators and the system alone, in place of whatever list there was.
function Set-OfAdministrators([string] $Path) {
    $list = New-Object Security.AccessControl.DirectorySecurity
    $list.SetAccessRuleProtection($true, $false)
    foreach ($who in 'S-1-5-32-544', 'S-1-5-18') {
        $sid = New-Object Security.Principal.SecurityIdentifier $who
        $list.AddAccessRule((New-Object Security.AccessControl.FileSystemAccessRule(
                    $sid, 'FullControl', 'ContainerInherit,ObjectInherit', 'None', 'Allow')))
    }
    $list.SetOwner((New-Object Security.Principal.SecurityIdentifier 'S-1-5-32-544'))
    Set-Acl -LiteralPath $Path -AclObject $list
}

function Remove-Service {
    if (-not (Get-Service -Name $name -ErrorAction SilentlyContinue)) { return }
    Stop-Service -Name $name -ErrorAction SilentlyContinue
    (Get-Service -Name $name).WaitForStatus('Stopped', '00:00:30')
    Invoke-Checked sc.exe delete $name
}

$identity = [Security.Principal.WindowsPrincipal] [Security.Principal.WindowsIdentity]::GetCurrent()
if (-not $identity.IsInRole([Security.Principal.WindowsBuiltInRole]::Administrator)) {
    throw 'services are for administrators: start PowerShell with "Run as administrator"'
}
Remove-Service
if ($Uninstall) {
    if (Test-Path -LiteralPath (Join-Path $program 'bin\greeksd.exe')) { Remove-Item -LiteralPath $program -Recurse -Force }
    Write-Output "The service is removed. Its options, log and state stay in $data"
    return
}
$source = Join-Path $PSScriptRoot 'bin\greeksd.exe'
if (-not (Test-Path -LiteralPath $source)) {
    throw "bin\greeksd.exe is not beside this script: unpack the whole archive and run the script there"
}
# Program Files: what a service runs must be an administrator's to change
if ($PSScriptRoot.TrimEnd('\') -ne $program) {
    if (Test-Path -LiteralPath $program) { Remove-Item -LiteralPath $program -Recurse -Force }
    New-Item -ItemType Directory -Path $program -Force | Out-Null
    Copy-Item -Path (Join-Path $PSScriptRoot '*') -Destination $program -Recurse -Force
    Get-ChildItem -LiteralPath $program -Recurse -File | Unblock-File
}
# the service manager talks to the process that it starts: the build itself, not the launcher
$version = & (Join-Path $program 'bin\greeksd.exe') --version --verbose
if ($LASTEXITCODE -ne 0) { throw "the program does not start: exit code $LASTEXITCODE" }
$level = @($version | Where-Object { $_ -like 'processor level: *' })[0] -replace '^processor level: ', ''
$build = Join-Path $program "lib\greeksd\greeksd-$level.exe"
if (-not (Test-Path -LiteralPath $build)) { throw "no build for $level in $program" }

$config = Join-Path $data 'greeksd.toml'
if (Test-Path -LiteralPath $data) {
    Assert-OfAdministrators $data
    Set-OfAdministrators $data
    if (Test-Path -LiteralPath $config) { Assert-OfAdministrators $config }
    # what is in the folder has its list alone
    if (Get-ChildItem -LiteralPath $data -Force) { Invoke-Checked icacls.exe "$data\*" /reset /T /L /Q }
} else {
    New-Item -ItemType Directory -Path $data | Out-Null
    Set-OfAdministrators $data
    if (Get-ChildItem -LiteralPath $data -Force) { throw "somebody has put files into $data just now: look at them" }
}
if (-not (Test-Path -LiteralPath $config)) {
    @(
        '# Options of the service; greeksd --help lists all. After a change: Restart-Service greeksd'
        ''
        '# the simulated market'
        'feed = "sim"'
        ''
        '# recorded chains of a folder that NT SERVICE\greeksd may read'
        "# feed = 'dir:C:\market'"
        "# Cboe's delayed quotes"
        '# feed = "cboe:SPY,QQQ,_SPX"'
    ) | Set-Content -LiteralPath $config -Encoding ASCII
}
$command = "`"$build`" serve --service --config `"$config`" --state-dir `"$data\state`" --log-file `"$data\greeksd.log`""
New-Service -Name $name -DisplayName 'greeksd' -StartupType Automatic -BinaryPathName $command `
    -Description 'Option Greeks over HTTP on this machine' | Out-Null
try {
    Invoke-Checked sc.exe config $name obj= 'NT SERVICE\greeksd'
    # again after 2 s, 10 s, then every minute; an end with an exit code counts as a failure too
    Invoke-Checked sc.exe failure $name reset= 86400 actions= 'restart/2000/restart/10000/restart/60000'
    Invoke-Checked sc.exe failureflag $name 1
    # nobody else reads keys, log or state
    Invoke-Checked icacls.exe $data /grant 'NT SERVICE\greeksd:(OI)(CI)M'
    Start-Service -Name $name
} catch {
    Remove-Service
    throw
}
Write-Output "The service runs $build; http://127.0.0.1:2112 unless $config says otherwise. Log: $data\greeksd.log"
